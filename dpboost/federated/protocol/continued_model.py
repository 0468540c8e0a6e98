"""The released model that an agreement continues: a text that all parties have."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from lightgbm.basic import LightGBMError

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.lightgbm.booster import Booster
from dpboost.lightgbm.init_model import EarlierModel, has_categories


def text_of_model(init_model: Any, classes: Sequence[Any] | None) -> str | None:
    """Return the text of what ``fit`` takes as ``init_model``, None where there is none.

    Parameters
    ----------
    init_model : estimator, Booster, str, path or None
    classes : sequence or None
        Of the fit that continues it, where it is one of classes.

    Raises
    ------
    InvalidParameterError
        For anything else, and for an estimator of other classes.
    """
    if init_model is None:
        return None
    earlier = EarlierModel.of(init_model)
    known = earlier.classes
    if known is not None and classes is not None and list(known) != sorted(classes):
        raise InvalidParameterError(
            "The 'init_model' parameter of fit must be a model of the same classes: its own "
            f"are {list(known)}."
        )
    return str(earlier.booster.model_to_string(num_iteration=-1))


@functools.lru_cache(maxsize=8)
def continued_model(text: str) -> EarlierModel:
    """Read the text of an agreement, once in a process.

    Raises
    ------
    InvalidParameterError
        If it is no model text.
    """
    try:
        return EarlierModel.of(Booster(model_str=text))
    except LightGBMError as error:
        raise InvalidParameterError(
            "The 'init_model' of an agreement must be a model text."
        ) from error


def check_continued(
    text: Any, features: Sequence[str], listed: Mapping[int, Sequence[Any]], owner: str
) -> None:
    """Raise unless an agreement can continue a model.

    Parameters
    ----------
    text : object
        What the agreement has for its text.
    features : sequence of str
        Columns of the agreement.
    listed : mapping of int to sequence
        Its lists of categories that are text.
    owner : str
        For messages.

    Raises
    ------
    InvalidParameterError
        For what is no text of a model, and for one of other columns or categories.
    """
    if not isinstance(text, str):
        raise refuse("init_model", owner, "None or a model text", type(text).__name__)
    booster = continued_model(text).booster
    if booster.num_feature() != len(features):
        raise InvalidParameterError(
            f"The 'init_model' of {owner} must be a model of its {len(features)} features, not of "
            f"{booster.num_feature()}."
        )
    if not has_categories(booster, listed):
        raise InvalidParameterError(
            f"The 'init_model' of {owner} must be a model of the categories in its schema, in "
            "their order: list those of text by Schema(categories=...)."
        )
