"""Who may read a file, as the system that runs the tests says it."""

import sys
from pathlib import Path


def owner_alone(path: Path) -> bool:
    """Return whether nobody but the owner (and who administers the machine) may read a file."""
    if sys.platform != "win32":
        return path.stat().st_mode & 0o077 == 0
    owner, entries = _access(path)
    return {entry.split(";")[5] for entry in entries} <= {owner, "OW", "S-1-3-4", "SY", "BA"}


def _access(path: Path) -> tuple[str, list[str]]:
    """Return the owner of a file and the entries of its access list, as Windows writes them."""
    import ctypes

    library = ctypes.WinDLL("advapi32")
    descriptor, text = ctypes.c_void_p(), ctypes.c_wchar_p()
    owner_and_list = 1 | 4
    nothing = (None,) * 4
    assert not library.GetNamedSecurityInfoW(
        str(path), 1, owner_and_list, *nothing, ctypes.byref(descriptor)
    )
    assert library.ConvertSecurityDescriptorToStringSecurityDescriptorW(
        descriptor, 1, owner_and_list, ctypes.byref(text), None
    )
    owner, _, entries = text.value.removeprefix("O:").partition("D:")
    return owner, entries.partition("(")[2].rstrip(")").split(")(")
