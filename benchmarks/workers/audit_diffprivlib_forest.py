"""Fits diffprivlib's random forest again and again; runs in its environment."""

import warnings

import numpy as np
from diffprivlib.accountant import BudgetAccountant
from diffprivlib.models import RandomForestClassifier
from diffprivlib.utils import PrivacyLeakWarning

from benchmarks.retraining import retrain
from benchmarks.serving import serve

warnings.filterwarnings("error", category=PrivacyLeakWarning)


def answer(arrays, settings):
    """Fit with bounds and classes declared; all else but what is said is at its default."""
    probe = arrays["X"][:1]
    votes_wanted = settings["expected_votes"]
    # A tree of which nothing is expected is looked at by nobody.
    looked_at = [position for position, vote in enumerate(votes_wanted) if vote is not None]
    expected = np.array([votes_wanted[position] for position in looked_at])

    def fit(X, y):
        return RandomForestClassifier(
            n_estimators=len(votes_wanted),
            epsilon=settings["epsilon"],
            bounds=tuple(arrays["bounds"].T),
            classes=[0, 1],
            shuffle=settings["shuffle"],
            # Chosen without a look at the rows: a split more changes nothing of what is promised.
            max_depth=1,
            # The common one remembers every fit and copies itself for each tree.
            accountant=BudgetAccountant(),
        ).fit(X, y)

    def tell(model):
        trees = [model.estimators_[position] for position in looked_at]
        votes = np.array([np.argmax(tree.predict_proba(probe)) for tree in trees])
        return [np.sum(votes == expected), np.all(votes == expected)]

    def thresholds(model):
        return np.concatenate([tree.tree_.threshold for tree in model.estimators_])

    return retrain(fit, tell, arrays, settings["runs"], fingerprint=thresholds)


if __name__ == "__main__":
    serve(answer)
