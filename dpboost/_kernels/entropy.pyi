from collections.abc import Callable

from numpy.random import BitGenerator

class SystemEntropy(BitGenerator):
    def __init__(self, *, read: Callable[[int], bytes] | None = None) -> None: ...
