"""Converters from what publishers offer, on tables that are made up in their form."""

from __future__ import annotations

import bz2
import gzip
import io
import zipfile

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from benchmarks.errors import DataFileError  # noqa: E402
from benchmarks.files import Original, PublishedFile, locate  # noqa: E402
from benchmarks.problems import ALL_PROBLEMS, originals  # noqa: E402
from benchmarks.problems.originals import ORIGINALS  # noqa: E402
from benchmarks.reproductions.lpdt.problems import LOCAL_PROBLEMS  # noqa: E402


def zipped(**members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "."), content)
    return stream.getvalue()


def through(path, content, tmp_path):
    """Return what is read of a table of the LPDT paper, or of a problem, after its converter."""
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    for problem in (*ALL_PROBLEMS.values(), *LOCAL_PROBLEMS.values()):
        paths = {file.path: file for file in problem.files}
        if set(paths) == {path}:
            found = locate(paths[path], environment=environment, fetch=lambda url: content)
            return problem.read({path: found})
    raise AssertionError(path)


def test_every_original_is_of_a_file_that_is_read():
    read = {
        file.path: file
        for problem in (*ALL_PROBLEMS.values(), *LOCAL_PROBLEMS.values())
        for file in problem.files
    }
    assert set(ORIGINALS) <= set(read)
    for path, original in ORIGINALS.items():
        assert read[path].original == original
        assert read[path].url is None


def test_semicolons_become_commas():
    assert originals.with_commas(b'"a";"b"\n1;2\n') == b"a,b\n1,2\n"
    with pytest.raises(ValueError, match="semicolon"):
        originals.with_commas(b"a,b\n")


def test_a_header_is_added_once():
    assert originals.with_header(b"1.5;2\n", "a;b") == b"a;b\n1.5;2\n"
    assert originals.with_header(b"a;b\n1;2\n", "a;b") == b"a;b\n1;2\n"


@pytest.mark.parametrize(
    ("path", "content", "shape"),
    [
        ("airfoil/airfoil_self_noise.dat", b"800\t0\t0.3\t71.3\t0.002\t126.2\n" * 2, (2, 5)),
        (
            "qsar_fish_toxicity/qsar_fish_toxicity.csv",
            zipped(fish__csv="3.26;0.82;1.67;0;1;1.45;3.77\n2.1;0.1;1;0;0;1;3\n"),
            (2, 6),
        ),
        (
            "qsar_aquatic_toxicity/qsar_aquatic_toxicity.csv",
            zipped(a__csv="0;0;0;2.4;1.2;0.6;0;0;3.7\n0;0;0;2.6;1.4;0.6;0;0;4.3\n"),
            (2, 8),
        ),
        (
            "air_quality/AirQualityUCI.csv",
            zipped(
                AirQualityUCI__csv="Date;Time;CO(GT);PT08.S1(CO);NMHC(GT);C6H6(GT);PT08.S2(NMHC);"
                "NOx(GT);PT08.S3(NOx);NO2(GT);PT08.S4(NO2);PT08.S5(O3);T;RH;AH;;\n"
                "10/03/2004;18.00.00;2,6;1360;150;11,9;1046;166;1056;113;1692;1268;13,6;48,9;"
                "0,7578;;\n;;;;;;;;;;;;;;;;\n"
            ),
            (1, None),
        ),
    ],
)
def test_tables_are_read_after_their_converter(path, content, shape, tmp_path):
    X, y = through(path, content, tmp_path)
    assert len(X) == len(y) == shape[0]
    assert shape[1] in (None, np.shape(X)[1])


def test_sparse_text_becomes_arrays(tmp_path):
    text = b"-1 1:1 22:0.5\n+1 2:1\n"
    X, y = through("ijcnn1/ijcnn1.mat", bz2.compress(text), tmp_path)
    assert np.shape(X) == (2, 22)
    assert list(y) == [0, 1]
    assert (
        gzip.decompress(ORIGINALS["cod_rna/cod-rna.reconstructed.libsvm.gz"].convert(text)) == text
    )


def test_two_covers_are_taken_of_seven():
    lines = [
        ",".join([*(str(10 * kind + n) for n in range(10)), *["0"] * 44, str(kind)])
        for kind in range(1, 8)
    ]
    with np.load(
        io.BytesIO(originals.two_covers(gzip.compress("\n".join(lines).encode())))
    ) as found:
        assert found["x"].tolist() == [[20 + n for n in range(10)], [40 + n for n in range(10)]]
        assert found["y"].ravel().tolist() == [0, 1]


def test_workbooks_become_text(monkeypatch):
    frame = pd.DataFrame({"ID": [1], "AGE": [24], "default payment next month": [1]})
    asked = {}

    def read_excel(stream, skiprows):
        asked["skip"] = skiprows
        return frame

    monkeypatch.setattr(pd, "read_excel", read_excel)
    assert originals.credit(b"") == b"ID,AGE,class\n1,24,1\n"
    assert asked == {"skip": 1}
    assert originals.sheet(b"", header=False) == b"1,24,1\n"
    plant = originals.power_plant(zipped(Folds5x2_pp__xlsx=b""))
    assert plant.startswith(b"temperature,vacuum,pressure,humidity,energy\n1,24,1")
    frame.columns = ["ID", "AGE", "other"]
    with pytest.raises(KeyError, match="default payment"):
        originals.credit(b"")


def test_a_conversion_is_made_once_and_its_digest_kept(tmp_path):
    file = PublishedFile(
        path="toy/toy.csv",
        url=None,
        sha256="0" * 64,
        original=Original(url="https://example.org/toy", convert=originals.with_commas),
    )
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    asked = []

    def fetch(url):
        asked.append(url)
        return b"a;b\n"

    for _ in range(2):
        path = locate(file, environment=environment, fetch=fetch)
    assert path.read_bytes() == b"a,b\n"
    assert asked == ["https://example.org/toy"]
    path.write_bytes(b"other")
    with pytest.raises(DataFileError, match="digest differs"):
        locate(file, environment=environment, fetch=fetch)


def test_what_does_not_convert_is_no_file(tmp_path):
    file = PublishedFile(
        path="toy/toy.csv",
        url=None,
        sha256=None,
        original=Original(url="https://example.org/toy", convert=originals.with_commas),
    )
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    with pytest.raises(DataFileError, match="does not convert .*never tried"):
        locate(file, environment=environment, fetch=lambda url: b"<html>")
    assert list(tmp_path.rglob("*.csv")) == []
    with pytest.raises(ValueError, match="https"):
        Original(url="http://example.org", convert=originals.same)
