"""What the processor can do, and how many threads OpenMP would use."""

def has_v3() -> bool:
    """Tell whether the kernels were built for x86-64-v3 too, and this machine runs that."""

def max_threads() -> int:
    """Return how many threads OpenMP would use, 1 where the kernels are built without it."""
