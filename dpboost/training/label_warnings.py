"""What released numbers say about labels and the classes they should belong to.

Declared classes *are* what is public about labels, so the labels of the rows are not compared with
them: whoever declares classes keeps to himself which of them occur. What is told here rests on
released numbers alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpboost._utils.warnings import warn_user
from dpboost.lightgbm.parameters import ParameterWarning
from dpboost.training.start_value import SURE, SeenRows

# Classes that a message lists.
_MOST_LISTED = 10


def warn_of_labels(seen: SeenRows, classes: Sequence[Any], *, declared: bool) -> None:
    """Warn where rows take no part, and where a declared class seems to have no rows.

    Parameters
    ----------
    seen : SeenRows
        Released.
    classes : sequence
        Declared or learned, in the order of the sizes.
    declared : bool
        Whether the user has declared them.
    """
    if seen.some_take_no_part:
        cure = "declare all of them, spelled and typed as in y" if declared else "declare them"
        warn_user(
            f"Rows with other labels than {_listed(classes)} take no part, and the released "
            f"numbers say that there are some: more than {SURE:g} standard deviations of their "
            f"noise. If these are not all classes, {cure}: schema=Schema(classes=...).",
            ParameterWarning,
        )
    if declared:
        warn_of_empty([classes[place] for place in seen.empty_classes if place < len(classes)])


def warn_of_empty(classes: Sequence[Any]) -> None:
    """Warn of declared classes whose released size is no more than noise.

    Parameters
    ----------
    classes : sequence
        Those of them, maybe none.
    """
    if classes:
        warn_user(
            f"Released numbers show no rows of the declared classes {_listed(classes)}: they are "
            f"below {SURE:g} standard deviations of their noise. Spell and type the classes as the "
            "labels y: Schema(classes=...), or 0 to num_class - 1 for dpboost.train. If they are "
            "right, epsilon is too small for so few rows of a class.",
            ParameterWarning,
        )


def _listed(classes: Sequence[Any]) -> str:
    listed = ", ".join(map(repr, classes[:_MOST_LISTED]))
    return f"{listed}, ..." if len(classes) > _MOST_LISTED else listed
