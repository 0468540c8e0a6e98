"""Train a private model, read its report, and predict with stock LightGBM.

    python examples/01_quickstart.py
    python examples/01_quickstart.py --data adult --epsilon 8

The default table comes with scikit-learn, so nothing is downloaded. It has 569 rows, which is
few for a private model: the larger Adult table shows what the method can do.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import lightgbm
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import train_test_split

from dpboost import DPBoostClassifier, Schema


def breast_cancer():
    """Features, labels and public knowledge of scikit-learn's breast cancer table."""
    table = load_breast_cancer()
    # Bounds as a codebook would give them; they are not read from the rows.
    bounds = {
        "radius": 40,
        "texture": 50,
        "perimeter": 300,
        "area": 5000,
        "smoothness": 0.3,
        "compactness": 1.5,
        "concavity": 1.5,
        "concave": 0.5,
        "symmetry": 1.0,
        "fractal": 0.3,
    }
    errors = {"radius": 4, "texture": 6, "perimeter": 30, "area": 600}
    declared = {}
    for position, name in enumerate(table.feature_names):
        words = name.split()
        if "error" in words:
            declared[position] = (0, errors.get(words[0], 0.2))
        else:
            declared[position] = (
                0,
                bounds[words[1] if words[0] in ("mean", "worst") else words[0]],
            )
    return table.data, table.target, Schema(bounds=declared, classes=[0, 1])


def adult():
    """Features, labels and public knowledge of the Adult table (48,842 rows)."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from benchmarks.problems import PROBLEMS

    problem = PROBLEMS["adult"]
    X, y = problem.load()
    return X, y, problem.dictionary.schema()


def main() -> None:
    """Train, report, save, and predict with stock LightGBM from the saved file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", choices=["breast_cancer", "adult"], default="breast_cancer")
    parser.add_argument("--epsilon", type=float, default=8.0)
    parser.add_argument("--output", type=Path, help="where to keep the model text")
    arguments = parser.parse_args()

    X, y, schema = {"breast_cancer": breast_cancer, "adult": adult}[arguments.data]()
    train_X, test_X, train_y, test_y = train_test_split(X, y, test_size=0.2, random_state=0)

    model = DPBoostClassifier(epsilon=arguments.epsilon, schema=schema)
    model.fit(train_X, train_y)
    print(model.privacy_report_)

    probability = model.predict_proba(test_X)[:, 1]
    print(f"accuracy {accuracy_score(test_y, model.predict(test_X)):.3f}")
    print(f"AUC      {roc_auc_score(test_y, probability):.3f}")

    with tempfile.TemporaryDirectory() as folder:
        path = arguments.output or Path(folder) / "model.txt"
        model.booster_.save_model(path)
        stock = lightgbm.Booster(model_file=str(path))
        assert np.array_equal(stock.predict(test_X), probability)
        print("stock LightGBM predicts the same from the saved text")


if __name__ == "__main__":
    main()
