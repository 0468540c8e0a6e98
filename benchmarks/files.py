"""Published data files: found in a folder, or downloaded once and checked."""

from __future__ import annotations

import hashlib
import os
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from benchmarks.errors import DataFileError

DATA_VARIABLE = "DPBOOST_DATA"
_TIMEOUT_SECONDS = 60.0

Fetch = Callable[[str], bytes]


@dataclass(frozen=True, kw_only=True)
class Original:
    """What a publisher offers in another form.

    Attributes
    ----------
    url : str
        Address, https only.
    convert : callable
        From the publisher's bytes to those that are read here. Neither it nor the address has
        been tried, so no digest is recorded: that of the first conversion is kept.
    """

    url: str
    convert: Callable[[bytes], bytes]

    def __post_init__(self) -> None:
        """Refuse a source that could be altered on its way."""
        _check_https(self.url, self.url)


@dataclass(frozen=True, kw_only=True)
class PublishedFile:
    """One file of a public data set.

    Attributes
    ----------
    path : str
        Where the file lies below a data folder, with forward slashes.
    url : str or None
        Where the publisher offers it, https only; ``None`` where no publisher offers these bytes:
        the file is then looked for in the folder of ``DPBOOST_DATA`` alone.
    sha256 : str or None
        Digest of the published bytes, 64 lower-case hexadecimal digits. ``None`` where it is not
        recorded here: the digest of the first download is then kept beside the file, and another
        one is refused from then on.
    page : str, optional
        Where the publisher offers the file to those who log in; for messages.
    original : Original, optional
        What the publisher offers instead of these bytes, where ``url`` is ``None``.
    """

    path: str
    url: str | None
    sha256: str | None
    page: str | None = None
    original: Original | None = None

    def __post_init__(self) -> None:
        """Refuse a source that could be altered on its way."""
        if self.url is not None:
            _check_https(self.url, self.path)


#: Whether files may be fetched from their publishers.
_MAY_FETCH = ContextVar("may_fetch", default=True)


def _check_https(url: str, what: str) -> None:
    if not url.startswith("https://"):
        raise ValueError(f"The source of {what} must be an https address.")


def sha256_of(path: Path) -> str:
    """Return the SHA-256 digest of a file as hexadecimal digits."""
    with path.open("rb") as stream:
        digest = hashlib.sha256()
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder of one user in which downloads are kept."""
    base = environment.get("XDG_CACHE_HOME")
    # The base directory specification tells programs to ignore a relative path here.
    if base and Path(base).is_absolute():
        return Path(base) / "dpboost"
    return Path.home() / ".cache" / "dpboost"


@contextmanager
def without_downloads() -> Iterator[None]:
    """Have no file fetched: what is not at hand is missing."""
    token = _MAY_FETCH.set(False)
    try:
        yield
    finally:
        _MAY_FETCH.reset(token)


def fetch_https(url: str) -> bytes:
    """Return the bytes behind an https address."""
    if not _MAY_FETCH.get():
        raise urllib.error.URLError("not fetched for a description, but by the run itself")
    with urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS) as response:
        if not response.geturl().startswith("https://"):
            raise urllib.error.URLError("the publisher redirects away from https")
        content: bytes = response.read()
    return content


def locate(
    file: PublishedFile,
    *,
    environment: Mapping[str, str] | None = None,
    fetch: Fetch = fetch_https,
) -> Path:
    """Return the local path of a published file, downloading it if need be.

    Parameters
    ----------
    file : PublishedFile
        What is wanted.
    environment : mapping of str to str, optional
        Environment variables; those of the process by default. ``DPBOOST_DATA`` names a folder
        whose files are used as they are, without a look at their digest. When it is unset or
        empty, the file comes from the cache of the user, where only bytes with the published
        digest are ever put.
    fetch : callable, optional
        How the bytes behind an address are got.

    Raises
    ------
    DataFileError
        If the file is missing from the folder, cannot be downloaded, or is not the published one.
    """
    environment = os.environ if environment is None else environment
    folder = environment.get(DATA_VARIABLE)
    if folder:
        path = Path(folder) / file.path
        if not path.is_file():
            raise _unavailable(file, Path(folder), f"{DATA_VARIABLE} is set to a folder without it")
        return path
    path = cache_folder(environment) / file.path
    if file.url is None and file.original is None:
        raise _unavailable(file, None, "it is not offered for download in this form")
    if path.is_file():
        # The recorded digest is of the copy that was read here, not of what a converter makes.
        expected = (file.sha256 if file.url is not None else None) or _first_digest(path)
        if sha256_of(path) != expected:
            raise DataFileError(
                f"{path} is not the file published at {_address(file)}: its SHA-256 digest differs "
                f"from {expected}. Delete it to download it again, or set {DATA_VARIABLE} to use a "
                "folder of your own."
            )
        return path
    if file.url is not None:
        _download(file, path, fetch)
    else:
        _convert(file, path, fetch)
    return path


def _address(file: PublishedFile) -> str | None:
    return file.original.url if file.url is None and file.original is not None else file.url


def _convert(file: PublishedFile, path: Path, fetch: Fetch) -> None:
    """Download what the publisher offers and keep it in the form that is read here."""
    folder = path.parents[len(Path(file.path).parts) - 1]
    assert file.original is not None
    try:
        content = file.original.convert(fetch(file.original.url))
    except OSError as error:
        raise _unavailable(file, folder, f"the download failed ({error})") from error
    except (KeyError, ValueError, ImportError) as error:
        reason = f"what {file.original.url} offers does not convert ({error}); it was never tried"
        raise _unavailable(file, folder, reason) from error
    digest = hashlib.sha256(content).hexdigest()
    write_atomically(_digest_path(path), f"{digest}\n".encode())
    write_atomically(path, content)


def _download(file: PublishedFile, path: Path, fetch: Fetch) -> None:
    folder = path.parents[len(Path(file.path).parts) - 1]
    assert file.url is not None
    try:
        content = fetch(file.url)
    except OSError as error:  # URLError, timeouts and a missing network are all of this kind
        raise _unavailable(file, folder, f"the download failed ({error})") from error
    found = hashlib.sha256(content).hexdigest()
    if file.sha256 is None:
        write_atomically(_digest_path(path), f"{found}\n".encode())
    elif found != file.sha256:
        raise _unavailable(
            file, folder, f"the download has SHA-256 {found} where {file.sha256} is expected"
        )
    write_atomically(path, content)


def _digest_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _first_digest(path: Path) -> str:
    """Return the digest of the first download; without it nothing fits, and the file is refused."""
    kept = _digest_path(path)
    return kept.read_text(encoding="utf-8").strip() if kept.is_file() else "the first download's"


def write_atomically(path: Path, content: bytes) -> None:
    """Put ``content`` at ``path`` so that no reader ever sees a part of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        # mkstemp makes the file private to the user; results are ordinary files.
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _unavailable(file: PublishedFile, folder: Path | None, reason: str) -> DataFileError:
    variable = f"set the environment variable {DATA_VARIABLE} to a folder that holds {file.path}."
    advice = variable[0].upper() + variable[1:]
    if file.url is not None:
        where = file.path if folder is None else folder / file.path
        advice = f"Download {file.url} and put it at {where}, or {variable}"
    elif file.original is not None:
        advice = f"Convert {file.original.url} by hand, or {variable}"
    elif file.page is not None:
        advice = f"Get it from {file.page} and put it at " + (
            f"{folder / file.path}."
            if folder is not None
            else f"{file.path} in a folder; {variable}"
        )
    elif folder is not None:
        advice = f"Put it at {folder / file.path}."
    return DataFileError(f"The data file {file.path} is not available: {reason}. {advice}")
