"""A LightGBM Booster that keeps the privacy report of a model."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import lightgbm
from lightgbm.basic import LightGBMError

from dpboost._utils.files import write_atomically
from dpboost._utils.validation import InvalidParameterError, RefusedError
from dpboost.data.conform import as_numbers
from dpboost.lightgbm.installed import LoadedBooster, use_one_thread
from dpboost.lightgbm.model_text.model_check import check_model_text
from dpboost.lightgbm.model_text.writer import (
    REPORT_KEY,
    find_report,
    insert_report,
    keep_report,
    model_text,
    without_kept,
)
from dpboost.reporting.privacy_report import PrivacyReport

if TYPE_CHECKING:
    from dpboost.trees.ensemble import Ensemble

_TRAIN = (
    "{} would fit this model to rows without accounting for them, and its privacy report would "
    "no longer be true. To do so on purpose, use "
    "lightgbm.Booster(model_str=booster.model_to_string())."
)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=use_one_thread)  # its OpenMP regions would hang there


class _OwnText(str):
    """A text that `model_text` has written, which needs no check."""

    __slots__ = ()


class Booster(LoadedBooster):
    """A released model with LightGBM's methods to predict, explain and save.

    The privacy report is one line of the model text. LightGBM ignores the line when it loads a
    model and drops it when it saves one; this class restores it. A saved file loads in any
    LightGBM 4.

    Parameters
    ----------
    params : dict, optional
        As in LightGBM, ignored: parameters are read from the model.
    train_set : Dataset, optional
        Private rows. ``update`` then requests one more round. ``dpboost.train`` trains all of them
        together at the first use of the model. If the first use is a metric, it trains
        ``num_iterations`` rounds, 100 by default after a single round, and ``update`` shows them
        one by one. ``rollback_one_iter`` removes the last round and refunds nothing.
    model_file : str or pathlib.Path, optional
        Path of a model text, of dpboost or of LightGBM.
    model_str : str, optional
        A model text.
    budget, fraction : optional
        With a training set: a budget and the part of it that the training takes.

    Raises
    ------
    ModelTextError
        If the text is not one that LightGBM can load safely.

    Notes
    -----
    External texts, including those in pickles, are validated by
    :func:`~dpboost.lightgbm.check_model_text` before LightGBM parses them. A pickle can execute
    arbitrary code: load only trusted pickles.

    ``__class__`` returns ``lightgbm.Booster``, because MLflow loads a saved Booster only if this is
    its recorded class.

    Privacy
    -------
    Contains released values only, so every method is post-processing; methods that would read rows
    to change or evaluate the model (``update``, ``refit``, ``eval``, ...) raise. With a
    ``train_set`` it is charged once, like ``dpboost.train``.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(500, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)

    >>> import dpboost
    >>> schema = {"bounds": {0: (0, 1), 1: (0, 1)}, "classes": [0, 1]}
    >>> model = dpboost.DPBoostClassifier(epsilon=2.0, n_estimators=5, schema=schema).fit(X, y)
    >>> text = model.booster_.model_to_string()
    >>> booster = dpboost.Booster(model_str=text)  # and so does lightgbm.Booster
    >>> bool(np.array_equal(booster.predict(X), model.booster_.predict(X)))
    True
    """

    _report_line: str | None = None
    # What trains, which lies in a room above this one.
    _of_a_training_set: ClassVar[type[Booster] | None] = None

    def __init_subclass__(cls, *, trains: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if trains:
            Booster._of_a_training_set = cls

    def __new__(cls, params: Any = None, train_set: Any = None, *_: Any, **__: Any) -> Booster:
        """Return a Booster that trains if rows are given."""
        trains = train_set is not None and cls is Booster
        return object.__new__(Booster._of_a_training_set or cls) if trains else object.__new__(cls)

    def __init__(
        self,
        params: dict[str, Any] | None = None,
        train_set: lightgbm.Dataset | None = None,
        model_file: str | Path | None = None,
        model_str: str | None = None,
        *,
        budget: Any = None,
        fraction: Any = None,
    ) -> None:
        if budget is not None or fraction is not None:
            raise InvalidParameterError(
                "The 'budget' and 'fraction' of Booster are for a training set, "
                "Booster(params, train_set, fraction=...): a model that is loaded costs nothing."
            )
        if model_file is not None:
            model_str = _text_of(Path(model_file))
        super().__init__(params=params, model_str=model_str)

    # That of `__new__` would hide the names of the parameters.
    __signature__ = inspect.Signature(list(inspect.signature(__init__).parameters.values())[1:])

    @classmethod
    def of_ensemble(
        cls, ensemble: Ensemble, *, parameters: Mapping[str, Any] | None = None
    ) -> Booster:
        """Return the Booster of an ensemble.

        ``parameters`` are public training parameters, as in `model_text`. It is the same as of the
        text of `model_text`, without reading that text twice: LightGBM parses it, but it is not
        checked before. InvalidParameterError is raised as by `model_text`.
        """
        return cls.of_written_text(model_text(ensemble, parameters=parameters))

    @classmethod
    def of_written_text(cls, text: str) -> Booster:
        """Return the Booster of a text that this package has written; it is not checked."""
        return cls(model_str=_OwnText(text))

    # The decorator would hide the class from ``super()``.
    __class__ = property(lambda self: lightgbm.Booster)

    #: Of the call of ``train`` that returned it, for `dpboost.replay`; in no pickle or copy.
    transcript: Any = None
    #: The estimator by which ``train`` made it, for `dpboost.refit_leaves`; in no pickle either.
    trained_by: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        state = self.__getstate__()
        for name in ("transcript", "trained_by"):
            state.pop(name, None)
        return _without_model, (type(self),), state

    def __setstate__(self, state: dict[str, Any]) -> None:
        text = state.get("_handle")
        if text is not None:
            check_model_text(text)
        super().__setstate__(state)

    @property
    def privacy_report(self) -> PrivacyReport | None:
        """The privacy report of the model, or None.

        Raises
        ------
        InvalidParameterError
            If the report is invalid.
        """
        if self._report_line is None:
            return None
        return PrivacyReport.from_dict(json.loads(self._report_line[len(REPORT_KEY) :]))

    def model_from_string(self, model_str: str) -> Booster:
        """Replace the model, report included, by that of a model text.

        Parameters
        ----------
        model_str : str
            A model text; the Booster is unchanged if it does not pass the check.

        Returns
        -------
        Booster
            This one.

        Raises
        ------
        ModelTextError
            If the text is not one that LightGBM can load safely.
        """
        if not isinstance(model_str, _OwnText):
            check_model_text(model_str)
        super().model_from_string(model_str)
        self._report_line = find_report(model_str)
        self.trained_by = None
        return self

    def model_to_string(
        self,
        num_iteration: int | None = None,
        start_iteration: int = 0,
        importance_type: str = "split",
    ) -> str:
        """Return the model text, report included.

        Parameters
        ----------
        num_iteration : int, optional
            Number of iterations to write; the best iteration or else all by default.
        start_iteration : int, default=0
            First iteration to write.
        importance_type : {"split", "gain"}, default="split"
            Kind of feature importance in the text.

        Returns
        -------
        str
            The report covers the whole model, even if the text contains a part of it.
        """
        text: str = super().model_to_string(num_iteration, start_iteration, importance_type)
        return insert_report(without_kept(text), self._report_line)

    def feature_importance(
        self, importance_type: str | None = None, iteration: int | None = None
    ) -> Any:
        """Return the importance of each feature.

        Parameters
        ----------
        importance_type : {"gain", "split"}, optional
            The default is the released gain for a model with a privacy report, whose splits may be
            random, and the number of splits, as in LightGBM, for other models.
        iteration : int, optional
            As in LightGBM.

        Returns
        -------
        ndarray of shape (n_features,)
        """
        if importance_type is None:
            importance_type = "split" if self._report_line is None else "gain"
        return super().feature_importance(importance_type, iteration)

    def predict(self, data: Any, *args: Any, **kwargs: Any) -> Any:
        """Predict as LightGBM does.

        Parameters
        ----------
        data : table of shape (n_rows, n_features), or path of a file
        *args, **kwargs
            As in LightGBM: ``start_iteration``, ``num_iteration``, ``raw_score``, ``pred_leaf``,
            ``pred_contrib``, ``data_has_header``, ``validate_features`` and parameters.

        Returns
        -------
        ndarray, or a sparse matrix or a list of them with ``pred_contrib`` of sparse rows

        Raises
        ------
        InvalidParameterError
            If X has columns of text, dates or objects.
        """
        return super().predict(as_numbers(data), *args, **kwargs)

    def dump_model(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return the model as LightGBM's dict.

        Parameters
        ----------
        *args, **kwargs
            As in LightGBM.

        Returns
        -------
        dict

        Raises
        ------
        InvalidParameterError
            If a tree is too deep for nested dicts.
        """
        try:
            dumped: dict[str, Any] = super().dump_model(*args, **kwargs)
        except RecursionError as error:
            raise _too_deep("dump_model") from error
        return dumped

    def trees_to_dataframe(self) -> Any:
        """Return the nodes of all trees as LightGBM's DataFrame.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        InvalidParameterError
            For trees that are too deep, as `dump_model`.
        """
        try:
            return super().trees_to_dataframe()
        except RecursionError as error:
            raise _too_deep("trees_to_dataframe") from error

    def to_lightgbm(self) -> lightgbm.Booster:
        """Return the model as a ``lightgbm.Booster``, for tools that check the type.

        Returns
        -------
        lightgbm.Booster
            Predictions are identical. The privacy report is kept in its parameters, so that a
            ``dpboost.Booster`` of its text has the report again. If the model is trained further
            on rows, the report is no longer true.
        """
        text = super().model_to_string(num_iteration=-1)
        stock = lightgbm.Booster(model_str=keep_report(text, self._report_line))
        stock.best_iteration, stock.best_score = self.best_iteration, self.best_score
        stock.pandas_categorical = self.pandas_categorical
        return stock

    def save_model(
        self,
        filename: str | Path,
        num_iteration: int | None = None,
        start_iteration: int = 0,
        importance_type: str = "split",
    ) -> Booster:
        """Write the model text to a file, report included.

        Parameters
        ----------
        filename : str or pathlib.Path
            The file.
        num_iteration, start_iteration, importance_type
            As in :meth:`model_to_string`.

        Returns
        -------
        Booster
            This one.

        Raises
        ------
        OSError
            If the file cannot be written; an existing file is then unchanged.
        """
        text = self.model_to_string(num_iteration, start_iteration, importance_type)
        write_atomically(filename, text.encode())
        return self

    def __deepcopy__(self, *args: Any, **kwargs: Any) -> Booster:
        copy = type(self)(model_str=self.model_to_string(num_iteration=-1))
        copy.params = dict(self.params)
        copy.best_iteration = self.best_iteration
        copy.best_score = {name: dict(scores) for name, scores in self.best_score.items()}
        return copy

    def update(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise, because training on rows must be accounted for."""
        raise RefusedError(
            _TRAIN.format("Booster.update")
            + " To continue privately, pass it as init_model to dpboost.train."
        )

    def refit(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise, because new leaf values from rows must be accounted for."""
        raise RefusedError(
            _TRAIN.format("Booster.refit")
            + " To do so privately, dpboost.refit_leaves(model, X, y, fraction=...) releases new "
            "leaf values under a budget, of a Booster as dpboost.train returned it or of a fitted "
            "estimator."
        )

    def add_valid(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise: a released model holds no data."""
        raise _without_data("add_valid")

    def eval(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise: a released model holds no data."""
        raise _without_data("eval")

    def eval_train(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise: a released model holds no data."""
        raise _without_data("eval_train")

    def eval_valid(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise: a released model holds no data."""
        raise _without_data("eval_valid")

    def rollback_one_iter(self) -> NoReturn:
        """Raise, because LightGBM rolls back only a model in training."""
        raise RefusedError(
            "Booster.rollback_one_iter needs a Booster in training. To drop the last iterations "
            "use booster.model_to_string(num_iteration=...)."
        )

    def reset_parameter(self, params: Mapping[str, Any]) -> NoReturn:
        """Raise: on a loaded model LightGBM's own method crashes the process."""
        raise RefusedError(
            "Booster.reset_parameter needs a Booster in training. Give parameters of prediction "
            "to predict, for instance booster.predict(X, num_threads=2)."
        )


class ModelFileError(LightGBMError, FileNotFoundError):
    """A model file does not exist: LightGBM's error, and Python's."""


def _text_of(path: Path) -> str:
    """Return the text of a model file, or raise."""
    try:
        # Not universal newlines: offsets in the text count the bytes that are there.
        return path.read_bytes().decode("utf-8", errors="surrogateescape")
    except FileNotFoundError as error:
        raise ModelFileError(f"Could not open {path}") from error


def _too_deep(name: str) -> InvalidParameterError:
    return InvalidParameterError(
        f"Booster.{name} goes through a tree by a call for each level, and this model has a tree "
        "with too many levels for Python. Use predict or model_to_string, which do not; or allow "
        "more levels by sys.setrecursionlimit before Python 3.12."
    )


def _without_model(kind: type[Booster]) -> Booster:
    """Return the Booster that a pickle fills."""
    return kind.__new__(kind)


def _without_data(name: str) -> RefusedError:
    return RefusedError(
        f"Booster.{name} needs a training set, and a released model has none. Predict and apply "
        "a metric; an exact metric of private rows is not private."
    )
