"""Files that only their owner can read, and that one process holds."""

from __future__ import annotations

import os
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
    _descriptor_of = ctypes.WinDLL(
        "advapi32", use_last_error=True
    ).ConvertStringSecurityDescriptorToSecurityDescriptorW
    _descriptor_of.argtypes = (
        wintypes.LPCWSTR,
        wintypes.DWORD,
        wintypes.LPVOID,
        wintypes.LPVOID,
    )

    # Everything for the owner, the system and administrators; nothing comes from the folder.
    _OWNER_ALONE = "D:P(A;;FA;;;OW)(A;;FA;;;SY)(A;;FA;;;BA)"
    _READ_AND_WRITE = 0xC0000000
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

else:

    def _opened(path: str, new: bool) -> int:
        return os.open(path, os.O_RDWR | os.O_CREAT | (os.O_EXCL if new else 0), 0o600)


def open_private(path: str | os.PathLike[str], new: bool = False) -> int:
    """Open a file to read and write, which is made for its owner alone if it is not there.

    It is private from the moment that it exists: by the mode 0600 on Unix, on Windows by an access
    list that names its owner, the system and administrators, and takes nothing from the folder.

    Parameters
    ----------
    path : path
    new : bool
        Whether a file that exists is an error.

    Returns
    -------
    int
        A descriptor.

    Raises
    ------
    FileExistsError
        If a new file is asked for and something is there.
    OSError
        If it can be neither opened nor made.
    """
    return _opened(os.fspath(path), new)


def lock_alone(descriptor: int) -> None:
    """Lock a file until it is closed.

    Raises
    ------
    BlockingIOError
        At once, if another process holds it.
    """
    if sys.platform == "win32":
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(*error.args) from None
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
