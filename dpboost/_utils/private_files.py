"""Files that only their owner can read, locked by one process."""

from __future__ import annotations

import os
import re
import sys

if sys.platform == "win32":
    import ctypes
    import msvcrt
    from ctypes import wintypes

    class _SecurityAttributes(ctypes.Structure):
        _fields_ = (
            ("length", wintypes.DWORD),
            ("descriptor", wintypes.LPVOID),
            ("inherited", wintypes.BOOL),
        )

    _kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    _kernel.CreateFileW.restype = wintypes.HANDLE
    _kernel.CreateFileW.argtypes = (
        wintypes.LPCWSTR,
        wintypes.DWORD,
        wintypes.DWORD,
        wintypes.LPVOID,
        wintypes.DWORD,
        wintypes.DWORD,
        wintypes.HANDLE,
    )
    _kernel.LocalFree.argtypes = (wintypes.LPVOID,)
    _rights = ctypes.WinDLL("advapi32", use_last_error=True)
    _rights_of_file = _rights.GetNamedSecurityInfoW
    _rights_of_file.argtypes = (
        wintypes.LPCWSTR,
        ctypes.c_int,
        wintypes.DWORD,
        *((wintypes.LPVOID,) * 5),
    )
    _text_of = _rights.ConvertSecurityDescriptorToStringSecurityDescriptorW
    _text_of.argtypes = (
        wintypes.LPVOID,
        wintypes.DWORD,
        wintypes.DWORD,
        wintypes.LPVOID,
        wintypes.LPVOID,
    )
    _descriptor_of = _rights.ConvertStringSecurityDescriptorToSecurityDescriptorW
    _descriptor_of.argtypes = (
        wintypes.LPCWSTR,
        wintypes.DWORD,
        wintypes.LPVOID,
        wintypes.LPVOID,
    )

    # Everything for the owner, the system and administrators; nothing comes from the folder.
    _OWNER_ALONE = "D:P(A;;FA;;;OW)(A;;FA;;;SY)(A;;FA;;;BA)"
    _READ_AND_WRITE = 0xC0000000
    # Who may be in the list of a file of the owner's alone, as Windows abbreviates or numbers them.
    _OWN = {"OW", "S-1-3-4", "SY", "S-1-5-18", "BA", "S-1-5-32-544"}
    _FILE, _OWNER_AND_LIST = 1, 0x1 | 0x4
    _SHARED = 0x3  # as `open` shares: others may read and write, nobody may delete
    _CREATE_NEW, _OPEN_ALWAYS = 1, 4
    _INVALID = wintypes.HANDLE(-1).value

    def _opened(path: str, new: bool) -> int:
        descriptor = wintypes.LPVOID()
        if not _descriptor_of(_OWNER_ALONE, 1, ctypes.byref(descriptor), None):
            raise ctypes.WinError(ctypes.get_last_error())
        try:
            attributes = _SecurityAttributes(
                ctypes.sizeof(_SecurityAttributes), descriptor.value, False
            )
            how = _CREATE_NEW if new else _OPEN_ALWAYS
            sys.audit("open", path, None, os.O_RDWR | os.O_CREAT)
            handle = _kernel.CreateFileW(
                path, _READ_AND_WRITE, _SHARED, ctypes.byref(attributes), how, 0x80, None
            )
        finally:
            _kernel.LocalFree(descriptor)
        if handle == _INVALID:
            code = ctypes.get_last_error()
            raise OSError(None, ctypes.FormatError(code), path, code)
        return msvcrt.open_osfhandle(handle, os.O_RDWR | os.O_BINARY | os.O_NOINHERIT)

    def _is_private(path: str) -> bool:
        descriptor, text = wintypes.LPVOID(), wintypes.LPWSTR()
        nothing = (None,) * 4
        code = _rights_of_file(path, _FILE, _OWNER_AND_LIST, *nothing, ctypes.byref(descriptor))
        if code:
            raise OSError(None, ctypes.FormatError(code), path, code)
        try:
            if not _text_of(descriptor, 1, _OWNER_AND_LIST, ctypes.byref(text), None):
                raise ctypes.WinError(ctypes.get_last_error())
            owner, _, entries = (text.value or "").removeprefix("O:").partition("D:")
        finally:
            _kernel.LocalFree(text)
            _kernel.LocalFree(descriptor)
        # Kind, flags, rights, two more and who. A file without a list is everybody's.
        found = [entry.split(";") for entry in re.findall(r"\(([^()]*)\)", entries)]
        allowed = {entry[5] for entry in found if entry[0] != "D"}
        return bool(found) and allowed <= {owner, *_OWN}

else:

    def _opened(path: str, new: bool) -> int:
        return os.open(path, os.O_RDWR | os.O_CREAT | (os.O_EXCL if new else 0), 0o600)

    def _is_private(path: str) -> bool:
        return not os.stat(path).st_mode & 0o077


def open_private(path: str | os.PathLike[str], new: bool = False) -> int:
    """Open a file to read and write, which is made for its owner alone if it is not there.

    It is private from the moment that it exists: by the mode 0600 on Unix, on Windows by an access
    list that names its owner, the system and administrators, and takes nothing from the folder.
    With ``new`` a file that exists is an error: FileExistsError. OSError if it can be neither
    opened nor made. Returns a descriptor.
    """
    return _opened(os.fspath(path), new)


def is_private(path: str | os.PathLike[str]) -> bool:
    """Return whether only the owner of a file, and who administers the machine, may use it."""
    return _is_private(os.fspath(path))


def lock_alone(descriptor: int) -> None:
    """Lock a file until it is closed.

    BlockingIOError at once, if another process holds it.
    """
    if sys.platform == "win32":
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(*error.args) from None
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
