from __future__ import annotations

import hashlib
import urllib.error

import pytest

from benchmarks.errors import DataFileError
from benchmarks.files import PublishedFile, cache_folder, locate, write_atomically

CONTENT = b"1,2,3\n"
FILE = PublishedFile(
    path="toy/toy.data",
    url="https://example.org/toy.data",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
)


def no_fetch(url):
    pytest.fail(f"asked for {url}")


def test_the_folder_of_the_variable_is_used_as_it_is(tmp_path):
    path = tmp_path / "toy" / "toy.data"
    path.parent.mkdir()
    path.write_text("of my own")
    found = locate(FILE, environment={"DPBOOST_DATA": str(tmp_path)}, fetch=no_fetch)
    assert found == path


def test_a_file_missing_from_the_folder_is_not_downloaded(tmp_path):
    with pytest.raises(DataFileError) as caught:
        locate(FILE, environment={"DPBOOST_DATA": str(tmp_path)}, fetch=no_fetch)
    message = str(caught.value)
    for word in (FILE.url, str(tmp_path / "toy" / "toy.data"), "DPBOOST_DATA"):
        assert word in message


@pytest.mark.parametrize("variable", [{}, {"DPBOOST_DATA": ""}])
def test_a_download_is_made_once(tmp_path, variable):
    asked = []

    def fetch(url):
        asked.append(url)
        return CONTENT

    environment = {"XDG_CACHE_HOME": str(tmp_path), **variable}
    for _ in range(2):
        path = locate(FILE, environment=environment, fetch=fetch)
        assert path == tmp_path / "dpboost" / "toy" / "toy.data"
        assert path.read_bytes() == CONTENT
    assert asked == [FILE.url]
    assert [item.name for item in path.parent.iterdir()] == ["toy.data"]


def test_a_download_with_another_digest_is_refused_and_leaves_nothing(tmp_path):
    with pytest.raises(DataFileError, match="SHA-256"):
        locate(FILE, environment={"XDG_CACHE_HOME": str(tmp_path)}, fetch=lambda url: b"other")
    assert list(tmp_path.rglob("*.data*")) == []


def test_a_file_that_changed_in_the_cache_is_refused(tmp_path):
    path = tmp_path / "dpboost" / "toy" / "toy.data"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"other")
    with pytest.raises(DataFileError, match="Delete it"):
        locate(FILE, environment={"XDG_CACHE_HOME": str(tmp_path)}, fetch=no_fetch)


@pytest.mark.parametrize("error", [urllib.error.URLError("no route"), TimeoutError("late")])
def test_no_network_says_what_to_do(tmp_path, error):
    def fetch(url):
        raise error

    with pytest.raises(DataFileError) as caught:
        locate(FILE, environment={"XDG_CACHE_HOME": str(tmp_path)}, fetch=fetch)
    message = str(caught.value)
    for word in (FILE.url, str(tmp_path / "dpboost" / "toy" / "toy.data"), "DPBOOST_DATA"):
        assert word in message


def test_a_relative_cache_folder_is_ignored():
    assert cache_folder({"XDG_CACHE_HOME": "here"}) == cache_folder({})


def test_an_address_without_tls_is_refused():
    with pytest.raises(ValueError, match="https"):
        PublishedFile(path="a", url="http://example.org/a", sha256="0" * 64)


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("old")
    with pytest.raises(TypeError):
        write_atomically(path, "text where bytes belong")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_nobody_offers_is_never_asked_for(tmp_path):
    file = PublishedFile(path="toy/toy.data", url=None, sha256=FILE.sha256)
    with pytest.raises(DataFileError, match="not offered for download.*DPBOOST_DATA"):
        locate(file, environment={"XDG_CACHE_HOME": str(tmp_path)}, fetch=no_fetch)
    with pytest.raises(DataFileError, match="Put it at"):
        locate(file, environment={"DPBOOST_DATA": str(tmp_path)}, fetch=no_fetch)
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "toy.data").write_bytes(CONTENT)
    assert locate(file, environment={"DPBOOST_DATA": str(tmp_path)}, fetch=no_fetch).is_file()
