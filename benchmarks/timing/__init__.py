"""Time and memory: whole fits beside LightGBM's, growth with size, and single kernels."""
