"""Sets of the Penn Machine Learning Benchmarks, which offers every table in one form."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.files import PublishedFile
from benchmarks.problems.problem import DataDictionary, Problem, Task
from benchmarks.problems.tables import class_numbers, declared_frame, numbers, read_table, words

if TYPE_CHECKING:
    import pandas as pd

_URL = "https://github.com/EpistasisLab/pmlb/raw/master/datasets/"
_LABEL = "target"


def _problem(
    name: str,
    task: Task,
    published: str,
    sha256: str,
    dictionary: DataDictionary,
    classes: Mapping[int, int] | None = None,
) -> Problem:
    """Return a problem over the published set of that name; ``classes`` number its labels."""
    file = PublishedFile(
        path=f"pmlb/{published}.tsv.gz",
        url=f"{_URL}{published}/{published}.tsv.gz",
        sha256=sha256,
    )
    n_columns = len(dictionary.bounds) + len(dictionary.categories) + 1

    def read(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
        raw = read_table(paths[file.path], n_columns, sep="\t")
        labels = raw[_LABEL]
        y = numbers(labels, _LABEL) if classes is None else class_numbers(labels, classes, _LABEL)
        return declared_frame(raw, dictionary), y

    return Problem(
        name=name,
        task=task,
        files=(file,),
        dictionary=dictionary,
        read=read,
        source=f"https://epistasislab.github.io/pmlb/profile/{published}.html",
    )


# Activity of a computer with many users: counts a second, sizes of queues and free memory.
CPU_ACT = _problem(
    "cpu_act",
    "regression",
    "197_cpu_act",
    "d00fd6bac2eda0821a04ff10277663d211127745a19a474c0feee41a16914fdc",
    DataDictionary(
        bounds={
            "lread": (0, 2_000),
            "lwrite": (0, 1_000),
            "scall": (0, 15_000),
            "sread": (0, 6_000),
            "swrite": (0, 6_000),
            "fork": (0, 50),
            "exec": (0, 100),
            "rchar": (0, 3_000_000),
            "wchar": (0, 2_000_000),
            "pgout": (0, 100),
            "ppgout": (0, 200),
            "pgfree": (0, 1_000),
            "pgscan": (0, 2_000),
            "atch": (0, 300),
            "pgin": (0, 200),
            "ppgin": (0, 300),
            "pflt": (0, 1_000),
            "vflt": (0, 2_000),
            "runqsz": (0, 3_000),
            "freemem": (0, 15_000),
            "freeswap": (0, 2_500_000),
        },
        label_bounds=(0, 100),  # per cent of time in user mode
    ),
)

# Friedman's function on the unit cube, at most 30, with unit noise.
FRIED = _problem(
    "fried",
    "regression",
    "564_fried",
    "f64bb4a6d214a59a50b70b0f3270e334725b6cc010443a484cc751b595a46fe9",
    DataDictionary(bounds={f"X{number}": (0, 1) for number in range(1, 11)}, label_bounds=(-5, 35)),
)

# Breiman's piecewise linear function of values -1, 0 and 1, at most 9, with noise.
BNG_PWLINEAR = _problem(
    "bng_pwlinear",
    "regression",
    "1203_BNG_pwLinear",
    "d43ac1fbd282bf61b80107e45d2e27af6fb5464fc9338634a98482fbbf98ec04",
    DataDictionary(
        bounds={f"a{number}": (-1, 1) for number in range(1, 11)}, label_bounds=(-20, 20)
    ),
)

# The dictionary of the Insurance Company Benchmark: types of customer, then grouped ages,
# shares in tenths, classes of contributions (0 to 9) and numbers of policies (0 to 12).
_COIL_SHARES = words(
    "MGODRK MGODPR MGODOV MGODGE MRELGE MRELSA MRELOV MFALLEEN MFGEKIND MFWEKIND MOPLHOOG "
    "MOPLMIDD MOPLLAAG MBERHOOG MBERZELF MBERBOER MBERMIDD MBERARBG MBERARBO MSKA MSKB1 MSKB2 "
    "MSKC MSKD MHHUUR MHKOOP MAUT1 MAUT2 MAUT0 MZFONDS MZPART MINKM30 MINK3045 MINK4575 "
    "MINK7512 MINK123M MINKGEM"
)
_COIL_POLICIES = words(
    "WAPART WABEDR WALAND PERSAUT BESAUT MOTSCO VRAAUT AANHANG TRACTOR WERKT BROM LEVEN "
    "PERSONG GEZONG WAOREG BRAND ZEILPL PLEZIER FIETS INBOED BYSTAND"
)
COIL2000 = _problem(
    "coil2000",
    "binary",
    "coil2000",
    "849976657dc371578819f225ce81eb9a76bd084ce743b5ff6753e415567c68dd",
    DataDictionary(
        bounds={
            "MAANTHUI": (1, 10),
            "MGEMOMV": (1, 6),
            "MGEMLEEF": (1, 6),
            **dict.fromkeys(_COIL_SHARES, (0, 9)),
            "MKOOPKLA": (1, 8),
            **{f"P{name}": (0, 9) for name in _COIL_POLICIES},
            **{f"A{name}": (0, 12) for name in _COIL_POLICIES},
        },
        categories={
            "MOSTYPE": tuple(str(number) for number in range(1, 42)),
            "MOSHOOFD": tuple(str(number) for number in range(1, 11)),
        },
        classes=(0, 1),
    ),
    {0: 0, 1: 1},
)

# Statistics of letters drawn as pixels, each scaled by the publisher to 0 to 15.
LETTER = _problem(
    "letter",
    "multiclass",
    "letter",
    "f8ffe4f9920dc63fb85b864cc1afffb66e45c6e302d175905fd7db04ba67b8c6",
    DataDictionary(
        bounds=dict.fromkeys(
            words(
                "x-box y-box width high onpix x-bar y-bar x2bar y2bar xybar x2ybr xy2br x-ege "
                "xegvy y-ege yegvx"
            ),
            (0, 15),
        ),
        classes=tuple(range(26)),
    ),
    {letter: letter - 1 for letter in range(1, 27)},
)


def _codes(n_values: int) -> tuple[str, ...]:
    return tuple(str(code) for code in range(n_values))


# The publisher left out the class of two rows and kept the numbers of the others.
NURSERY = _problem(
    "nursery",
    "multiclass",
    "nursery",
    "5e56c09fc2c6a983c031879fe7de5fc945c44db2ca65f10fc5f5b6fc770489ff",
    DataDictionary(
        bounds={},
        categories={
            "parents": _codes(3),
            "has_nurs": _codes(5),
            "form": _codes(4),
            "children": _codes(4),
            "housing": _codes(3),
            "finance": _codes(2),
            "social": _codes(3),
            "health": _codes(3),
        },
        classes=(0, 1, 2, 3),
    ),
    {0: 0, 1: 1, 3: 2, 4: 3},
)

# Each of the 42 places of the board is empty or held by one of two players.
CONNECT_4 = _problem(
    "connect_4",
    "multiclass",
    "connect_4",
    "e283074e1123d23361332bd83414c172640d2596fc076d1e20e8f4a64a658137",
    DataDictionary(
        bounds={},
        categories={f"{column}{row}": _codes(3) for column in "abcdefg" for row in range(1, 7)},
        classes=(0, 1, 2),
    ),
    {0: 0, 1: 1, 2: 2},
)

# -- tables with many columns --------------------------------------------------------------------

# Daily means of the wind at twelve stations, in knots, of which one is to be told.
WIND = _problem(
    "wind",
    "regression",
    "503_wind",
    "2cc1e040bdc20737674a00039cd80e16758c511e697e524ed17e4335ec93e9a6",
    DataDictionary(
        bounds={
            "year": (60, 80),
            "month": (1, 12),
            "day": (1, 31),
            **dict.fromkeys(words("RPT VAL ROS KIL SHA BIR DUB CLA MUL CLO BEL"), (0, 50)),
        },
        label_bounds=(0, 50),
    ),
)

# Waves with noise of unit variance, and 19 columns of nothing but noise.
WAVEFORM_40 = _problem(
    "waveform_40",
    "multiclass",
    "waveform_40",
    "b095f9d384fbac256b5870d3ca01d687e776a81457351a8a6fa56e7f1d09c4b0",
    DataDictionary(bounds={f"X{number:02d}": (-10, 10) for number in range(40)}, classes=(0, 1, 2)),
    {0: 0, 1: 1, 2: 2},
)

# Distances along rays through shapes of molecules, and the number of each molecule.
CLEAN2 = _problem(
    "clean2",
    "binary",
    "clean2",
    "c6d768714b6ecfebeb8a1bab4cb45de7c86fddafa769d6de53f52b464ff18bb3",
    DataDictionary(
        bounds={
            "molecule_name": (0, 101),
            "conformation_name": (0, 6597),
            **{f"f{number}": (-500, 700) for number in range(1, 167)},
        },
        classes=(0, 1),
    ),
    {0: 0, 1: 1},
)

# Numbers of dark pixels in the fields of a digit.
OPTDIGITS = _problem(
    "optdigits",
    "multiclass",
    "optdigits",
    "b70b7ac68a54d1ccd41bd24f11324c3af96b67541791fb9d8684cbdf151533c3",
    DataDictionary(
        bounds={f"input{number}": (0, 16) for number in range(1, 65)}, classes=tuple(range(10))
    ),
    {digit: digit for digit in range(10)},
)

# Four spectral bands of nine neighboring points of a picture; nobody has class 6.
SATIMAGE = _problem(
    "satimage",
    "multiclass",
    "satimage",
    "1ee8cf9693351db7afe68f6fc32942845caae3e1030c688efa6c5d0b24229f46",
    DataDictionary(
        bounds={f"A{number}": (0, 255) for number in range(1, 37)}, classes=tuple(range(6))
    ),
    {1: 0, 2: 1, 3: 2, 4: 3, 5: 4, 7: 5},
)

# Made-up measures of grains of pollen, of which the density is to be told.
POLLEN = _problem(
    "pollen",
    "regression",
    "529_pollen",
    "2e9414f0216e75296ba4211c567dd8a60d269273b38f8e00bd8fea3a37d2e654",
    DataDictionary(
        bounds=dict.fromkeys(words("RIDGE NUB CRACK WEIGHT"), (-50, 50)), label_bounds=(-20, 20)
    ),
)

# Two normal distributions of unit variance in twenty dimensions, whose means are opposite.
TWONORM = _problem(
    "twonorm",
    "binary",
    "twonorm",
    "00e254e3cc6879b3c08cfc5a96ad882a6b1b0a232afcff4934bc1555e05f7168",
    DataDictionary(bounds={f"A{number}": (-10, 10) for number in range(1, 21)}, classes=(0, 1)),
    {0: 0, 1: 1},
)

# Age, answers and laboratory values of patients, which the publisher scaled to 0 to 1.
ANN_THYROID = _problem(
    "ann_thyroid",
    "multiclass",
    "ann_thyroid",
    "3a4434a1f86ea83db795dd5acd7576c0e782287d9d32df74eef20e29bc1c45cd",
    DataDictionary(bounds={f"A{number}": (0, 1) for number in range(1, 22)}, classes=(0, 1, 2)),
    {1: 0, 2: 1, 3: 2},
)
