"""Two rows of every data set in the form of its file: lowest and highest declared values."""

from __future__ import annotations

import bz2
import gzip
import io
import zipfile

import numpy as np
from scipy.io import savemat

from benchmarks.problems import PROBLEMS


def cells(name, high):
    """One row of the declared features, by name."""
    known = PROBLEMS[name].dictionary
    row = {column: ends[high] for column, ends in known.bounds.items()}
    row |= {column: values[-high] for column, values in known.categories.items()}
    return row


def delimited(name, labels, *, columns=None, header=True, separator=",", label_name="label"):
    """A text table; ``columns`` gives the order where it is not features, then label."""
    lines = []
    for high, label in enumerate(labels):
        row = cells(name, high) | {label_name: label}
        order = columns or list(row)
        lines.append(separator.join(str(row.get(column, 0)) for column in order))
    head = [separator.join(order)] if header else []
    return ("\n".join(head + lines) + "\n").encode()


def zipped(member, content):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(member, content)
    return stream.getvalue()


def arrays(save, **content):
    stream = io.BytesIO()
    save(stream, **content)
    return stream.getvalue()


def sparse(name, labels):
    n_features = len(PROBLEMS[name].dictionary.bounds)
    return f"{labels[0]} 1:1\n{labels[1]} 2:1 {n_features}:1\n".encode()


EVANS = ["elevators", "keggdirected", "keggundirected", "kin40k", "pol", "protein", "pumadyn32nm"]
PMLB = {
    "cpu_act": "197_cpu_act",
    "fried": "564_fried",
    "bng_pwlinear": "1203_BNG_pwLinear",
    "coil2000": "coil2000",
    "letter": "letter",
    "nursery": "nursery",
    "connect_4": "connect_4",
}
HIGGS = ["label", *PROBLEMS["higgs"].dictionary.bounds]
MUSHROOM = ["label", *PROBLEMS["mushroom"].dictionary.categories]
BIKES = ["instant", "dteday", *PROBLEMS["bike_sharing"].dictionary.bounds]
BIKES += ["casual", "registered", "cnt"]
HOUSES = ["id", "date", "price", *PROBLEMS["kc_house"].dictionary.bounds]
CREDIT = ["ID", *PROBLEMS["default_credit"].dictionary.categories]
CREDIT += [*PROBLEMS["default_credit"].dictionary.bounds, "class"]
TELCO = ["customerID", *PROBLEMS["telco_churn"].dictionary.categories]
TELCO += [*PROBLEMS["telco_churn"].dictionary.bounds, "Churn"]
AIR = "Date,Time,CO(GT),PT08.S1(CO),NMHC(GT),C6H6(GT),PT08.S2(NMHC),NOx(GT),PT08.S3(NOx),NO2(GT)"
AIR += ",PT08.S4(NO2),PT08.S5(O3),T,RH,AH\n"


def kdd_row(service, label):
    return ",".join(["0", "tcp", service, "SF", *["0"] * 37, label]) + "\n"


def every_file():
    """Bytes of every file below the data folder."""
    files = {
        "bank_marketing/bank.zip": zipped(
            "bank-full.csv",
            delimited("bank", ['"no"', '"yes"'], separator=";", label_name="y"),
        ),
        "cod_rna/cod-rna.reconstructed.libsvm.gz": gzip.compress(sparse("cod_rna", ["-1", "1"])),
        "libsvm_a9a/a9a": sparse("a9a", ["-1", "+1"]),
        "libsvm_a9a/a9a.t": sparse("a9a", ["-1", "+1"]),
        "libsvm_w8a/w8a": sparse("w8a", ["-1", "+1"]),
        "ijcnn1/ijcnn1.mat": arrays(
            lambda stream, **content: savemat(stream, content),
            X=np.zeros((2, 22)),
            y=np.array([[-1], [1]]),
        ),
        "news20/news20.bz2": bz2.compress(sparse("news20", ["10", "11"])),
        "covtype_subsets/ramp_covertype_test_92962.csv.gz": gzip.compress(
            delimited("covtype", [2, 7], label_name="Cover_Type")
        ),
        "covtype_odds_cover/cover.npz": arrays(
            np.savez, x=np.zeros((2, 10), dtype=np.int16), y=np.array([[0], [1]], dtype=np.uint8)
        ),
        "skin/Skin_NonSkin.txt": delimited("skin", [2, 1], header=False, separator="\t"),
        "ccpp/Folds5x2_pp.csv": b"\xef\xbb\xbf"
        + delimited("ccpp", [420, 500], label_name="energy"),
        "mushroom/agaricus-lepiota.data": delimited(
            "mushroom", ["e", "p"], columns=MUSHROOM, header=False
        ),
        "air_quality/AirQualityUCI.csv": (
            AIR
            + "10/03/2004,18.00.00,2.6,1360,150,11.9,1046,166,1056,113,1692,1268,13.6,48.9,0.7578\n"
            + '10/03/2004,19.00.00,-200,1,1,9.4,1,1,1,1,1,1,1,1,"10,086"\n'
            + "10/03/2004,20.00.00,2,1,1,-200,1,1,1,1,1,1,1,1,0.7\n"
        ).encode(),
        "diamonds/diamonds.csv": delimited("diamonds", [326, 18_823], label_name="price"),
        "blog_feedback/BlogFeedback.zip": zipped(
            "blogData_train.csv", delimited("blog_feedback", [0, 7], header=False)
        ),
        "kddcup99/kddcup.data_10_percent.gz": gzip.compress(
            (kdd_row("http", "normal.") + kdd_row("X11", "smurf.")).encode()
        ),
        "mnist/mnist_reconstructed.npz": arrays(
            np.savez,
            x_train=np.zeros((2, 28, 28), dtype=np.uint8),
            y_train=np.array([0, 9], dtype=np.uint8),
        ),
        "uci_regression_yarin/kin8nm.txt": delimited("kin8nm", [0, 1], header=False, separator=" "),
    }
    files["bike_sharing/Bike-Sharing-Dataset.zip"] = zipped(
        "hour.csv",
        delimited("bike_sharing", [1, 977], columns=BIKES, label_name="cnt"),
    )
    files["kc_house/kc_house_data.csv"] = delimited(
        "kc_house", [75_000, 7_700_000], columns=HOUSES, label_name="price"
    )
    files["default_credit/UCI_Credit_Card.csv"] = delimited(
        "default_credit", [0, 1], columns=CREDIT, label_name="class"
    )
    files["telco_churn/Telco_Customer_Churn.csv"] = delimited(
        "telco_churn", ["No", "Yes"], columns=TELCO, label_name="Churn"
    ).replace(b",10000,Yes", b", ,Yes")
    files["spambase/spambase.data"] = delimited("spambase", [0, 1], header=False)
    naval = list(PROBLEMS["naval"].dictionary.bounds)
    files["uci_regression_yarin/naval-propulsion-plant.txt"] = delimited(
        "naval", [0.95, 1], columns=[*naval, "label", "other"], header=False, separator="  "
    )
    for color in ("red", "white"):
        columns = [*PROBLEMS["wine_quality"].dictionary.bounds, "quality"]
        files[f"wine_quality/winequality-{color}.csv"] = delimited(
            "wine_quality", [3, 9], columns=columns, label_name="quality"
        )
    for part in ("train", "test"):
        files[f"higgs_lightgbm_sample/binary.{part}"] = delimited(
            "higgs", [0, 1], columns=HIGGS, header=False, separator="\t"
        )
    for name in EVANS:
        content = delimited(name, [0, 0.5], header=False)
        files[f"uci_regression_evans/{name}.csv.gz"] = gzip.compress(content)
    for name, published in PMLB.items():
        content = delimited(name, [1, 1], separator="\t", label_name="target")
        files[f"pmlb/{published}.tsv.gz"] = gzip.compress(content)
    return files
