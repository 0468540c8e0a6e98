"""Where publishers offer files in another form than the one that is read here, and the way over.

None of these addresses and converters has been tried against the publisher: they were written
where no network was, from what the publishers say of their files. A digest is therefore recorded
of none; that of the first conversion is kept. Converters read bytes and return bytes, and say what
is wrong by raising ``ValueError`` or ``KeyError``.
"""

from __future__ import annotations

import bz2
import gzip
import io
import zipfile
from collections.abc import Callable
from functools import partial
from types import MappingProxyType

import numpy as np

from benchmarks._compat import import_pandas
from benchmarks.files import Original

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"
_UCI_ZIP = "https://archive.ics.uci.edu/static/public/"
_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"

_CREDIT_LABEL = "default payment next month"


def same(content: bytes) -> bytes:
    """Return the file as it is."""
    return content


def with_commas(content: bytes) -> bytes:
    """Return a text table whose cells are separated by semicolons with commas instead."""
    text = content.decode("utf-8").replace('"', "")
    if ";" not in text:
        raise ValueError("there is no semicolon")
    return text.replace(";", ",").encode()


def with_header(content: bytes, header: str) -> bytes:
    """Return a text table with a first line before it, where it has none."""
    first = content.split(b"\n", 1)[0].decode("utf-8").strip()
    is_number = first.replace("\t", ";").replace(",", ";").split(";")[0].replace(".", "").isdigit()
    return f"{header}\n".encode() + content if is_number else content


def member(content: bytes, ending: str) -> bytes:
    """Return the first member of an archive whose name ends so."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            if name.endswith(ending):
                return archive.read(name)
    raise KeyError(f"the archive holds no file that ends with {ending}")


def fish(content: bytes) -> bytes:
    """Return the table of fish toxicity with commas and the names of its columns."""
    header = "CIC0;SM1_Dz(Z);GATS1i;NdsCH;NdssC;MLOGP;LC50"
    return with_commas(with_header(member(content, ".csv"), header))


def aquatic(content: bytes) -> bytes:
    """Return the table of aquatic toxicity with the names of its columns."""
    header = "TPSA;Saacc;H-050;MLOGP;RDCHI;GATS1p;nN;C-040;LC50"
    return with_header(member(content, ".csv"), header)


def air_quality(content: bytes) -> bytes:
    """Return the table of the archive with points in numbers and commas between cells."""
    text = member(content, "AirQualityUCI.csv").decode("utf-8")
    lines = [line.replace(",", ".").split(";") for line in text.splitlines()]
    # Lines end with empty cells, and empty lines follow the table.
    kept = [cells[:15] for cells in lines if cells[0]]
    return ("\n".join(",".join(cells) for cells in kept) + "\n").encode()


def sheet(content: bytes, *, skip: int = 0, header: bool = True) -> bytes:
    """Return the first sheet of a workbook as comma-separated text."""
    frame = import_pandas().read_excel(io.BytesIO(content), skiprows=skip)
    text: str = frame.to_csv(index=False, header=header)
    return text.encode()


def credit(content: bytes) -> bytes:
    """Return the workbook of credit card clients; its second line has the names."""
    text = sheet(content, skip=1).decode()
    first, rest = text.split("\n", 1)
    if _CREDIT_LABEL not in first:
        raise KeyError(f"there is no column {_CREDIT_LABEL!r}")
    return f"{first.replace(_CREDIT_LABEL, 'class')}\n{rest}".encode()


def power_plant(content: bytes) -> bytes:
    """Return the first sheet of the workbook in the archive, with our names of its columns."""
    text = sheet(member(content, "Folds5x2_pp.xlsx")).decode()
    return b"temperature,vacuum,pressure,humidity,energy\n" + text.split("\n", 1)[1].encode()


def ijcnn1(content: bytes) -> bytes:
    """Return sparse text as arrays ``X`` and ``y`` in a MATLAB file."""
    from scipy.io import savemat
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(io.BytesIO(bz2.decompress(content)), n_features=22)
    stream = io.BytesIO()
    savemat(stream, {"X": X.toarray(), "y": y[:, np.newaxis]})
    return stream.getvalue()


def two_covers(content: bytes) -> bytes:
    """Return the ten measures of the second and fourth forest cover, the fourth one labeled 1."""
    frame = import_pandas().read_csv(io.BytesIO(gzip.decompress(content)), header=None)
    table = frame[frame.iloc[:, -1].isin((2, 4))]
    stream = io.BytesIO()
    np.savez(
        stream,
        x=table.iloc[:, :10].to_numpy(dtype=np.int16),
        y=(table.iloc[:, -1] == 4).to_numpy().astype(np.uint8)[:, np.newaxis],
    )
    return stream.getvalue()


def _original(url: str, convert: Callable[[bytes], bytes] = same) -> Original:
    return Original(url=url, convert=convert)


_AIRFOIL = "Freq\tAngle\tLength\tVel\tDispl\tPressure"
_IBM = "https://raw.githubusercontent.com/IBM/telco-customer-churn-on-icp4d/master/data/"

#: By the path of the file that is read here.
ORIGINALS: MappingProxyType[str, Original] = MappingProxyType(
    {
        "wine_quality/winequality-red.csv": _original(
            f"{_UCI}wine-quality/winequality-red.csv", with_commas
        ),
        "wine_quality/winequality-white.csv": _original(
            f"{_UCI}wine-quality/winequality-white.csv", with_commas
        ),
        "airfoil/airfoil_self_noise.dat": _original(
            f"{_UCI}00291/airfoil_self_noise.dat", partial(with_header, header=_AIRFOIL)
        ),
        "qsar_aquatic_toxicity/qsar_aquatic_toxicity.csv": _original(
            f"{_UCI_ZIP}505/qsar+aquatic+toxicity.zip", aquatic
        ),
        "qsar_fish_toxicity/qsar_fish_toxicity.csv": _original(
            f"{_UCI_ZIP}504/qsar+fish+toxicity.zip", fish
        ),
        "concrete/Concrete_Data_Yeh.csv": _original(
            f"{_UCI}concrete/compressive/Concrete_Data.xls", partial(sheet, header=False)
        ),
        "boston_housing/housing.data": _original(f"{_UCI}housing/housing.data"),
        "ccpp/Folds5x2_pp.csv": _original(
            f"{_UCI_ZIP}294/combined+cycle+power+plant.zip", power_plant
        ),
        "air_quality/AirQualityUCI.csv": _original(f"{_UCI}00360/AirQualityUCI.zip", air_quality),
        "blog_feedback/BlogFeedback.zip": _original(f"{_UCI}00304/BlogFeedback.zip"),
        "default_credit/UCI_Credit_Card.csv": _original(
            f"{_UCI}00350/default%20of%20credit%20card%20clients.xls", credit
        ),
        "cod_rna/cod-rna.reconstructed.libsvm.gz": _original(f"{_LIBSVM}cod-rna", gzip.compress),
        "ijcnn1/ijcnn1.mat": _original(f"{_LIBSVM}ijcnn1.bz2", ijcnn1),
        "covtype_odds_cover/cover.npz": _original(
            "https://ndownloader.figshare.com/files/5976039", two_covers
        ),
        "diamonds/diamonds.csv": _original(
            "https://raw.githubusercontent.com/tidyverse/ggplot2/main/data-raw/diamonds.csv"
        ),
        "telco_churn/Telco_Customer_Churn.csv": _original(f"{_IBM}Telco-Customer-Churn.csv"),
        "mnist/mnist_reconstructed.npz": _original(
            "https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz"
        ),
    }
)
