"""Check that the claim of a fitted model matches the request and the charges."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from dpboost.audit.hockey_stick import delta_of
from dpboost.audit.run_trace import Violation
from dpboost.estimators.boosting_estimators import DPBoostRegressor
from dpboost.estimators.tree_estimators import DPTreeClassifier

#: Inverse curves are found to this precision.
ROUNDING = 1e-6


def false_claims(estimator: Any) -> list[str]:
    """Compare a report with the parameters of its estimator and with what was spent, in words."""
    report = estimator.privacy_report_
    found = [
        f"asked for {name} {asked}, the report says {told}"
        for name, asked, told in (
            ("epsilon", float(estimator.epsilon), float(report.epsilon)),
            ("delta", float(estimator.delta), float(report.delta)),
            ("neighbors", estimator.neighbors, report.neighbors),
        )
        if asked != told
    ]
    seeded = getattr(estimator, "noise_seed", None) is not None
    if report.private and (seeded or estimator.epsilon == math.inf):
        found.append("noise that anyone can draw again, or none, is called private")
    if not report.private or report.epsilon_spent == math.inf:
        return found
    times = report.rows_per_user or 1
    spent, epsilon = float(report.spent), float(report.epsilon_spent)
    if report.privacy_measure == "epsilon":
        if spent * times > epsilon * (1 + ROUNDING) + ROUNDING:
            found.append(f"spent {spent * times}, the report says {epsilon}")
        return found
    left = float(report.delta_spent)
    delta = delta_of(report.privacy_measure, spent * times**2, epsilon * (1 + ROUNDING))
    if delta > left * (1 + 1e-3):
        found.append(f"epsilon spent {epsilon} holds at delta {delta:.3g}, not at {left:.3g}")
    return found


def unfounded_claims() -> list[Violation]:
    """Fit without noise and with noise from a seed; neither may be called private."""
    X, y = np.zeros((9, 1)), np.arange(9) % 2
    found = []
    for more in ({"noise_seed": 1}, {"epsilon": math.inf}):
        for kind, small in ((DPBoostRegressor, {"n_estimators": 1}), (DPTreeClassifier, {})):
            settings: dict[str, Any] = {"max_depth": 1, "n_jobs": 1, **small, **more}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = kind(**settings).fit(X, y)
            told = false_claims(model)
            found += [Violation("claim", f"{kind.__name__}, {more}", message) for message in told]
    return found
