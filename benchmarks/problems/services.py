"""Tables of services and trades, declared as their data dictionaries do: types, codes, ranges."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.files import PublishedFile
from benchmarks.problems.originals import ORIGINALS
from benchmarks.problems.problem import DataDictionary, Problem
from benchmarks.problems.tables import class_numbers, declared_frame, numbers, read_table, words

if TYPE_CHECKING:
    import pandas as pd

_BIKES_FILE = PublishedFile(
    path="bike_sharing/Bike-Sharing-Dataset.zip",
    url="https://archive.ics.uci.edu/static/public/275/bike+sharing+dataset.zip",
    sha256="b70182d0d0508e9abbb79306ce5c0cec34869000f8220175ac83d11dbe845401",
)
_CALENDAR = {
    "season": (1, 4),
    "yr": (0, 1),
    "mnth": (1, 12),
    "hr": (0, 23),
    "holiday": (0, 1),
    "weekday": (0, 6),
    "workingday": (0, 1),
    "weathersit": (1, 4),
}
_BIKES = DataDictionary(
    # Temperatures, humidity and wind are divided by their largest value by the publisher.
    bounds={**_CALENDAR, **dict.fromkeys(words("temp atemp hum windspeed"), (0, 1))},
    integer=tuple(_CALENDAR),
    label_bounds=(0, 1_000),
)


def _read_bikes(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    with zipfile.ZipFile(paths[_BIKES_FILE.path]) as archive, archive.open("hour.csv") as hours:
        raw = read_table(hours, 17)
    return declared_frame(raw, _BIKES), numbers(raw["cnt"], "cnt")


BIKE_SHARING = Problem(
    name="bike_sharing",
    task="regression",
    files=(_BIKES_FILE,),
    dictionary=_BIKES,
    read=_read_bikes,
    source="https://archive.ics.uci.edu/dataset/275/bike+sharing+dataset",
)

_HOUSES_FILE = PublishedFile(
    path="kc_house/kc_house_data.csv",
    url=None,
    sha256="d0875baa0251b21d4bdc9d2ae940a4fe0bb6009824f23dd0e2a5b2bf04557b7e",
)
_WHOLE_OF_HOUSES = {
    "bedrooms": (0, 40),
    "sqft_living": (0, 20_000),
    "sqft_lot": (0, 2_000_000),
    "waterfront": (0, 1),
    "view": (0, 4),
    "condition": (1, 5),
    "grade": (1, 13),
    "sqft_above": (0, 20_000),
    "sqft_basement": (0, 10_000),
    "yr_built": (1900, 2015),
    "yr_renovated": (0, 2015),  # 0: never
    "zipcode": (98_001, 98_199),
    "sqft_living15": (0, 20_000),
    "sqft_lot15": (0, 2_000_000),
}
_HOUSES = DataDictionary(
    bounds={
        **_WHOLE_OF_HOUSES,
        "bathrooms": (0, 10),
        "floors": (1, 4),
        "lat": (47, 48),
        "long": (-123, -121),
    },
    integer=tuple(_WHOLE_OF_HOUSES),
    label_bounds=(0, 10_000_000),  # dollars
)


def _read_houses(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    raw = read_table(paths[_HOUSES_FILE.path], 21)
    return declared_frame(raw, _HOUSES), numbers(raw["price"], "price")


KC_HOUSE = Problem(
    name="kc_house",
    task="regression",
    files=(_HOUSES_FILE,),
    dictionary=_HOUSES,
    read=_read_houses,
    source="https://www.kaggle.com/datasets/harlfoxem/housesalesprediction",
)

_CREDIT_FILE = PublishedFile(
    path="default_credit/UCI_Credit_Card.csv",
    url=None,
    original=ORIGINALS["default_credit/UCI_Credit_Card.csv"],
    sha256="1dbd482cde20ce8b78b5721cf125646d318cef4f1ad30fe5803807447de13686",
)
_MONTHS = range(1, 7)
_PAYMENTS = words("PAY_0 PAY_2 PAY_3 PAY_4 PAY_5 PAY_6")
_AMOUNTS = {
    "LIMIT_BAL": (0, 1_000_000),
    **{f"BILL_AMT{month}": (-500_000, 2_000_000) for month in _MONTHS},
    **{f"PAY_AMT{month}": (0, 2_000_000) for month in _MONTHS},
}
_CREDIT = DataDictionary(
    # Months of delay of a payment, -2 to 9; amounts in whole New Taiwan dollars.
    bounds={"AGE": (18, 100), **dict.fromkeys(_PAYMENTS, (-2, 9)), **_AMOUNTS},
    categories={
        "SEX": ("1", "2"),
        "EDUCATION": words("0 1 2 3 4 5 6"),
        "MARRIAGE": words("0 1 2 3"),
    },
    integer=("AGE", *_PAYMENTS, *_AMOUNTS),
    classes=(0, 1),
)


def _read_credit(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    raw = read_table(paths[_CREDIT_FILE.path], 25)
    labels = class_numbers(raw["class"], {0: 0, 1: 1}, "class")
    return declared_frame(raw, _CREDIT), labels


DEFAULT_CREDIT = Problem(
    name="default_credit",
    task="binary",
    files=(_CREDIT_FILE,),
    dictionary=_CREDIT,
    read=_read_credit,
    source="https://archive.ics.uci.edu/dataset/350/default+of+credit+card+clients",
)

_TELCO_FILE = PublishedFile(
    path="telco_churn/Telco_Customer_Churn.csv",
    url=None,
    original=ORIGINALS["telco_churn/Telco_Customer_Churn.csv"],
    sha256="88be4b93fbe0cc83421af1c503794c97c342eca914c1576db7c276e61d61358a",
)
_YES_OR_NO = ("No", "Yes")
_SERVICES = words(
    "OnlineSecurity OnlineBackup DeviceProtection TechSupport StreamingTV StreamingMovies"
)
_TELCO = DataDictionary(
    bounds={
        "SeniorCitizen": (0, 1),
        "tenure": (0, 72),  # months
        "MonthlyCharges": (0, 200),
        "TotalCharges": (0, 10_000),
    },
    categories={
        "gender": ("Female", "Male"),
        **dict.fromkeys(words("Partner Dependents PhoneService PaperlessBilling"), _YES_OR_NO),
        "MultipleLines": (*_YES_OR_NO, "No phone service"),
        "InternetService": ("DSL", "Fiber optic", "No"),
        **dict.fromkeys(_SERVICES, (*_YES_OR_NO, "No internet service")),
        "Contract": ("Month-to-month", "One year", "Two year"),
        "PaymentMethod": (
            "Electronic check",
            "Mailed check",
            "Bank transfer (automatic)",
            "Credit card (automatic)",
        ),
    },
    integer=("SeniorCitizen", "tenure"),
    classes=(0, 1),
)


def _read_telco(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    # Whoever has just come has no total yet: a blank.
    raw = read_table(paths[_TELCO_FILE.path], 21, na_values=[" "])
    return declared_frame(raw, _TELCO), class_numbers(raw["Churn"], {"No": 0, "Yes": 1}, "Churn")


TELCO_CHURN = Problem(
    name="telco_churn",
    task="binary",
    files=(_TELCO_FILE,),
    dictionary=_TELCO,
    read=_read_telco,
    source="https://www.kaggle.com/datasets/blastchar/telco-customer-churn",
)

_SPAM_FILE = PublishedFile(
    path="spambase/spambase.data",
    url="https://archive.ics.uci.edu/ml/machine-learning-databases/spambase/spambase.data",
    sha256="ebec58cfca94ea61c77df632314acae15bad410f4769d38b1a66cb41050e3431",
)
_FREQUENCIES = tuple(f"frequency_{position}" for position in range(54))
_RUNS = {"run_average": (1, 10_000), "run_longest": (1, 10_000), "run_total": (1, 20_000)}
_SPAM = DataDictionary(
    # Parts of all words and characters in per cent; lengths of runs of capital letters.
    bounds={**dict.fromkeys(_FREQUENCIES, (0, 100)), **_RUNS},
    integer=("run_longest", "run_total"),
    classes=(0, 1),
)


def _read_spam(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    names = [*_SPAM.bounds, "spam"]
    raw = read_table(paths[_SPAM_FILE.path], 58, header=None, names=names)
    return declared_frame(raw, _SPAM), class_numbers(raw["spam"], {0: 0, 1: 1}, "spam")


SPAMBASE = Problem(
    name="spambase",
    task="binary",
    files=(_SPAM_FILE,),
    dictionary=_SPAM,
    read=_read_spam,
    source="https://archive.ics.uci.edu/dataset/94/spambase",
)

_CHURN_FILE = PublishedFile(
    path="churn_modelling/Churn_Modelling.csv",
    url=None,
    sha256="3996cd1fa372e0db0cd9c0ebac35bbd4e8e3c65fb942bb010c826e7b1eeef0a0",
)
_CHURN = DataDictionary(
    bounds={
        "CreditScore": (300, 900),
        "Age": (18, 100),
        "Tenure": (0, 10),
        "Balance": (0, 300_000),
        "NumOfProducts": (1, 4),
        "HasCrCard": (0, 1),
        "IsActiveMember": (0, 1),
        "EstimatedSalary": (0, 200_000),
    },
    categories={"Geography": ("France", "Germany", "Spain"), "Gender": ("Female", "Male")},
    classes=(0, 1),
)


def _read_churn(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    raw = read_table(paths[_CHURN_FILE.path], 14)
    return declared_frame(raw, _CHURN), class_numbers(raw["Exited"], {0: 0, 1: 1}, "Exited")


#: Made-up customers of a bank, of whom some have left.
CHURN_MODELLING = Problem(
    name="churn_modelling",
    task="binary",
    files=(_CHURN_FILE,),
    dictionary=_CHURN,
    read=_read_churn,
    source="https://www.kaggle.com/datasets/shrutimechlearn/churn-modelling",
)
