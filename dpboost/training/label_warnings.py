"""What released numbers say about labels and the classes they should belong to.

Declared classes *are* what is public about labels, so the labels of the rows are not compared with
them: whoever declares classes keeps to himself which of them occur. What is told here rests on
released numbers alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpboost._utils.warnings import warn_user
from dpboost.growing.growth import Grown
from dpboost.lightgbm.parameters import ParameterWarning
from dpboost.privacy.ledger import Ledger
from dpboost.training.privacy_params import PrivacyRequest, warn_of_delta
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
        warn_of_empty(
            [classes[position] for position in seen.empty_classes if position < len(classes)]
        )


def warn_of_start(
    seen: SeenRows, classes: Sequence[Any], privacy: PrivacyRequest, ledger: Ledger
) -> None:
    """Warn by what was released before the first tree.

    Parameters
    ----------
    seen : SeenRows
    classes : sequence
        Public, in their order; empty in a regression.
    privacy : PrivacyRequest
    ledger : Ledger

    Warns
    -----
    ParameterWarning
        Where delta is large for so many rows, where rows take no part, and where a declared class
        has none.
    """
    warn_of_delta(ledger, seen.n_rows)
    # Where the set of labels is assumed public, every label is a class of some row.
    declared = privacy.schema.classes is not None
    if classes and (declared or "classes" not in privacy.assume_public):
        warn_of_labels(seen, classes, declared=declared)


def warn_of_grown(
    grown: Grown,
    classes: Sequence[Any],
    privacy: PrivacyRequest,
    ledger: Ledger,
    *,
    counted: bool,
) -> None:
    """Warn by the released counts of a tree's leaves, whose sums are those of all rows.

    Rows of other labels are in no count of a tree: nothing tells of them alone.

    Parameters
    ----------
    grown : Grown
        With sizes of classes.
    classes, privacy, ledger
        As in `warn_of_start`.
    counted : bool
        Whether rows were counted before the tree was grown.
    """
    sizes = grown.class_sizes
    assert sizes is not None
    if not counted:
        warn_of_delta(ledger, max(float(sizes.sum()), 1.0))
    if privacy.schema.classes is not None:
        small = np.flatnonzero(sizes <= SURE * grown.noise_stddev)
        warn_of_empty([classes[position] for position in small.tolist()])


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
