"""What the processor can do."""

def has_v3() -> bool:
    """Tell whether the kernels were built for x86-64-v3 too, and this machine runs that."""
