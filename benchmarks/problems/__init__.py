"""The data sets, by name."""

from __future__ import annotations

from benchmarks.problems.abalone import ABALONE
from benchmarks.problems.adult import ADULT
from benchmarks.problems.bank import BANK
from benchmarks.problems.blog_feedback import BLOG_FEEDBACK
from benchmarks.problems.covtype import COVTYPE, COVTYPE_7, COVTYPE_ODDS
from benchmarks.problems.diamonds import DIAMONDS
from benchmarks.problems.elsewhere import (
    AVAZU,
    CHICAGO_TAXI,
    COVTYPE_FULL,
    CREDIT_CARD,
    REAL_SIM,
    SUSY,
    YEAR_PREDICTION,
)
from benchmarks.problems.evans import (
    ELEVATORS,
    KEGGDIRECTED,
    KEGGUNDIRECTED,
    KIN40K,
    POL,
    PROTEIN,
    PUMADYN32NM,
)
from benchmarks.problems.generated import DELAYS, SYNTHETIC_CLS, SYNTHETIC_REG
from benchmarks.problems.higgs import HIGGS
from benchmarks.problems.kddcup99 import KDDCUP99, KDDCUP99_23
from benchmarks.problems.late_flights import LATE_FLIGHTS
from benchmarks.problems.libsvm import A9A, COD_RNA, IJCNN1, NEWS20, W8A
from benchmarks.problems.mnist import MNIST
from benchmarks.problems.pmlb import (
    BNG_PWLINEAR,
    COIL2000,
    CONNECT_4,
    CPU_ACT,
    FRIED,
    LETTER,
    NURSERY,
)
from benchmarks.problems.problem import Problem
from benchmarks.problems.services import (
    BIKE_SHARING,
    DEFAULT_CREDIT,
    KC_HOUSE,
    SPAMBASE,
    TELCO_CHURN,
)
from benchmarks.problems.uci import AIR_QUALITY, CCPP, MUSHROOM, SKIN, WINE
from benchmarks.problems.yarin import KIN8NM, NAVAL

__all__ = ["ALL_PROBLEMS", "PROBLEMS", "Problem"]

PROBLEMS: dict[str, Problem] = {
    problem.name: problem
    for problem in (
        # two classes
        ADULT,
        BANK,
        COD_RNA,
        A9A,
        W8A,
        IJCNN1,
        SKIN,
        COVTYPE,
        COVTYPE_ODDS,
        COIL2000,
        MUSHROOM,
        HIGGS,
        KDDCUP99,
        NEWS20,
        DEFAULT_CREDIT,
        SPAMBASE,
        TELCO_CHURN,
        LATE_FLIGHTS,
        # regression
        ABALONE,
        WINE,
        CCPP,
        KIN8NM,
        NAVAL,
        AIR_QUALITY,
        CPU_ACT,
        DIAMONDS,
        FRIED,
        BNG_PWLINEAR,
        ELEVATORS,
        KEGGDIRECTED,
        KEGGUNDIRECTED,
        KIN40K,
        POL,
        PROTEIN,
        PUMADYN32NM,
        BLOG_FEEDBACK,
        BIKE_SHARING,
        KC_HOUSE,
        DELAYS,
        # more classes
        COVTYPE_7,
        LETTER,
        NURSERY,
        CONNECT_4,
        MNIST,
        KDDCUP99_23,
    )
}

#: Besides, the sets of the papers that are generated, large, or to be had from the publisher alone.
ALL_PROBLEMS: dict[str, Problem] = PROBLEMS | {
    problem.name: problem
    for problem in (
        SYNTHETIC_CLS,
        SYNTHETIC_REG,
        REAL_SIM,
        COVTYPE_FULL,
        SUSY,
        YEAR_PREDICTION,
        CREDIT_CARD,
        AVAZU,
        CHICAGO_TAXI,
    )
}
