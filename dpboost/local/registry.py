"""Registry of local mechanisms, and the default choice."""

from __future__ import annotations

from typing import Any

from dpboost._utils.validation import InvalidParameterError, check_choice
from dpboost.local.cell_mechanism import CellReports
from dpboost.local.exact_probability import check_epsilon, exp_below
from dpboost.local.frequency_oracles import GeneralizedResponse, UnaryEncoding
from dpboost.local.label_levels import Labels, NumericLabels
from dpboost.local.lpdt_mechanism import PaperReports
from dpboost.local.randomizer import Randomizer
from dpboost.privacy.exact_arithmetic import Epsilon

#: ``signed_cell`` is one of the next two; ``paper`` serves regressions only.
MECHANISMS = ("signed_cell", "unary", "response", "paper")


def find_randomizer(
    mechanism: Any, epsilon: Any, labels: Labels, n_cells: int, owner: str
) -> Randomizer:
    """Return the local mechanism of that name.

    ``unary`` and ``response`` report pairs of cell and label level by optimized unary encoding or
    generalized randomized response; ``signed_cell`` takes the one with the lower variance;
    ``paper`` is that of the LPDT paper.
    """
    check_choice("mechanism", owner, mechanism, MECHANISMS)
    budget = check_epsilon(owner, epsilon)
    if mechanism == "paper":
        if not isinstance(labels, NumericLabels):
            raise InvalidParameterError(
                f"The 'mechanism' parameter of {owner} cannot be 'paper' for classes: its noisy "
                "label is a number. Use 'signed_cell'."
            )
        return PaperReports(budget=budget, labels=labels, n_cells=n_cells)
    n_symbols = n_cells * labels.n_levels
    if mechanism == "response" or (
        mechanism == "signed_cell" and response_is_better(n_symbols, budget)
    ):
        kind: Any = GeneralizedResponse
    else:
        kind = UnaryEncoding
    return CellReports(
        oracle=kind(epsilon=budget, n_symbols=n_symbols), labels=labels, n_cells=n_cells
    )


def response_is_better(n_symbols: int, epsilon: Epsilon) -> bool:
    r"""Return whether generalized randomized response has the lower variance.

    Its variance :math:`(K - 2 + e^\varepsilon) / (e^\varepsilon - 1)^2` is below the
    :math:`4 e^\varepsilon / (e^\varepsilon - 1)^2` of unary encoding for
    :math:`K < 3 e^\varepsilon + 2` (Wang and others, USENIX Security 2017, section 5). Decided in
    exact numbers, so that every device and the server choose alike.
    """
    return isinstance(epsilon, float) or n_symbols < 3 * exp_below(epsilon) + 2
