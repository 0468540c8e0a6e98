"""Validation of a model text before LightGBM parses it.

LightGBM trusts the text: a wrong offset or a missing key ends the process, a child index out of
range reads foreign memory, and a short ``left_child`` makes prediction loop forever. A text that
passes this check is complete, consistent and safe to load; any other text raises an error.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from dpboost._utils.json_text import parse_json
from dpboost.lightgbm.model_text.parser import TreeBlock, check_tree
from dpboost.lightgbm.model_text.syntax import FLOAT, INTEGER, Entries, ModelTextError
from dpboost.lightgbm.model_text.writer import (
    KEPT_KEY,
    PANDAS_KEY,
    PARAMETER_LINE,
    REPORT_KEY,
)

__all__ = ["ModelTextError", "check_model_text"]

_REQUIRED = ("num_class", "label_index", "max_feature_idx", "feature_names", "feature_infos")
_OBJECTIVES = re.compile(
    "regression(_l1|_l2)?|l1|l2|mse|mae|rmse|huber|fair|poisson|quantile|mape|gamma|tweedie|binary|"
    "multiclass|multiclassova|cross_entropy(_lambda)?|xentropy|xentlambda|lambdarank|rank_xendcg|"
    "custom|none"
)
_MAX_KEYS = 22  # LightGBM reads no more lines of a tree
_MAX_HEADER_LINES = 100  # it writes 12, and each is kept here
# LightGBM takes memory for an output of each class before it looks at the trees.
_MAX_CLASSES = 2**16
# The names of eight million columns; what follows the trees becomes objects of many bytes each.
_LONGEST_LINE = 2**27
_LONGEST_JSON = 2**25
_LONGEST_OBJECTIVE = 200
# LightGBM turns the parameters into JSON: these are printed as numbers, and those as they stand.
_NUMBERS = re.compile(
    "alpha|bagging_fraction|cat_l2|cat_smooth|cegb_penalty_split|cegb_tradeoff|drop_rate|"
    "early_stopping_min_delta|fair_c|feature_fraction(_bynode)?|histogram_pool_size|lambda_l[12]|"
    "lambdarank_position_bias_regularization|learning_rate|linear_lambda|max_delta_step|"
    "min_gain_to_split|min_sum_hessian_in_leaf|monotone_penalty|(neg|pos)_bagging_fraction|"
    "other_rate|path_smooth|poisson_max_delta_step|pred_early_stop_margin|refit_decay_rate|"
    "scale_pos_weight|sigmoid|skip_drop|top_rate|tweedie_variance_power"
)
_LISTS = re.compile(
    "auc_mu_weights|categorical_feature|cegb_penalty_feature_(coupled|lazy)|eval_at|feature_contri|"
    "ignore_column|interaction_constraints|label_gain|max_bin_by_feature|monotone_constraints"
)
_WRONG_NAME = re.compile(r'\A\Z|\A | \Z|  |["\\\x00-\x1f]')
_BLANK = re.compile(r"[\r\n]*")
_SIGNS = Entries("-1|0|1")
_RANGE = re.compile(rf"none|\[(?:{FLOAT}):(?:{FLOAT})\]")
_CODES = Entries(INTEGER, ":")


def check_model_text(text: str) -> None:
    """Raise unless LightGBM can safely load the text.

    Parameters
    ----------
    text : str
        A whole model text, of dpboost or of LightGBM itself.

    Raises
    ------
    ModelTextError
        With the line, the field and what is wrong.
    """
    lines = _Lines(text)
    if lines.take() != "tree":
        raise lines.error("a model text starts with the line 'tree'")
    header = _read_header(lines)
    n_features, trees_per_round = _check_header(header)
    starts = []
    n_trees = 0
    while lines.peek().startswith("Tree="):
        starts.append(lines.offset)
        block = _read_tree(lines, n_trees)
        check_tree(block, n_features)
        n_trees += 1
    starts.append(lines.offset)
    if lines.take() != "end of trees":
        raise lines.error("expected 'Tree=' or 'end of trees'")
    if n_trees % trees_per_round:
        raise lines.error(f"{n_trees} trees are no multiple of {trees_per_round} a round")
    _check_tree_sizes(header, starts)
    _check_footer(lines)


@dataclass(frozen=True)
class _Field:
    line: int
    value: str


class _Lines:
    """Iterator over the lines of the text with their numbers and byte offsets."""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise ModelTextError(f"A model text is a str. Got {type(text).__name__} instead.")
        if "\0" in text or ("\r" in text and re.search(r"\r(?!\n)", text)):
            raise ModelTextError("The text holds a NUL or a lone carriage return.")
        try:
            if not text.isascii():
                text.encode()
        except UnicodeEncodeError as error:
            raise ModelTextError("The text cannot be encoded as UTF-8.") from error
        self.text = text
        self.n_read = 0
        self.offset = 0
        self._start = 0  # of the next line, in characters
        self._next: str | None = None

    def peek(self) -> str:
        if self._next is None:
            if self._start > len(self.text):
                raise self.error("the text ends early")
            end = self.text.find("\n", self._start)
            end = len(self.text) if end < 0 else end
            if end - self._start > _LONGEST_LINE:
                self.n_read += 1
                raise self.error(f"it is longer than {_LONGEST_LINE} characters")
            self._next = self.text[self._start : end]
        return self._next.removesuffix("\r")

    def take(self) -> str:
        line = self.peek()
        assert self._next is not None
        whole = self._next
        self.offset += (len(whole) if whole.isascii() else len(whole.encode())) + 1
        self._start += len(whole) + 1
        self.n_read += 1
        self._next = None
        return line

    def skip_blank(self) -> int:
        """Skip empty lines and return how many there were."""
        blank = _BLANK.match(self.text, self._start)
        assert blank is not None
        self._next = None
        self._start = blank.end()
        self.offset += len(blank.group())
        n_blank = blank.group().count("\n")
        self.n_read += n_blank
        return n_blank

    @property
    def at_end(self) -> bool:
        # The piece after the last line end is no line.
        return self._start >= len(self.text)

    def error(self, what: str) -> ModelTextError:
        """Return the error for the line read last."""
        return ModelTextError(f"Line {self.n_read} of the model text: {what}.")


def _read_header(lines: _Lines) -> dict[str, _Field]:
    header: dict[str, _Field] = {}
    lines.skip_blank()
    while not (lines.peek().startswith("Tree=") or lines.peek() == "end of trees"):
        line = lines.take()
        key, _, value = line.partition("=")
        if key in header or not key:
            raise lines.error(f"the header names {key!r} twice or not at all")
        if "=" in value and key not in ("feature_names", "monotone_constraints"):
            raise lines.error(f"two '=' in header field {key!r}")
        if len(header) == _MAX_HEADER_LINES:
            raise lines.error(f"the header has more than {_MAX_HEADER_LINES} lines")
        header[key] = _Field(lines.n_read, value)
        lines.skip_blank()
    for key in _REQUIRED:
        if key not in header:
            raise lines.error(f"the header has no {key!r}")
    return header


def _wrong(header: dict[str, _Field], key: str, what: str) -> ModelTextError:
    field = header[key]
    return ModelTextError(f"Line {field.line} of the model text, {key!r}: {what}.")


def _header_integer(header: dict[str, _Field], key: str, low: int, high: int) -> int:
    value = header[key].value
    if not re.fullmatch(INTEGER, value) or not low <= int(value) <= high:
        raise _wrong(header, key, f"must be an integer from {low} to {high}, got {value[:40]!r}")
    return int(value)


def _check_header(header: dict[str, _Field]) -> tuple[int, int]:
    """Check the header and return the numbers of features and of trees in a round."""
    n_class = _header_integer(header, "num_class", 1, _MAX_CLASSES)
    _header_integer(header, "label_index", 0, 2**31 - 1)
    n_features = _header_integer(header, "max_feature_idx", 0, 2**31 - 2) + 1
    if "num_tree_per_iteration" in header:
        # LightGBM writes one output a tree of the round into a buffer of num_class outputs.
        _header_integer(header, "num_tree_per_iteration", n_class, n_class)
    names = header["feature_names"].value
    if names.count(" ") + 1 != n_features or _WRONG_NAME.search(names):
        must = f"must be {n_features} names with a blank between, without quotes and backslashes"
        raise _wrong(header, "feature_names", must)
    infos = header["feature_infos"].value
    if infos.count(" ") + 1 != n_features or _count_infos(infos) != n_features:
        raise _wrong(header, "feature_infos", f"must be {n_features} ranges or category lists")
    if "monotone_constraints" in header:
        signs = header["monotone_constraints"].value
        if signs.count(" ") + 1 != n_features or not _SIGNS.are_in(signs):
            raise _wrong(header, "monotone_constraints", f"must be {n_features} of -1, 0 and 1")
    if "objective" in header:
        _check_objective(header, n_class)
    return n_features, n_class


def _count_infos(infos: str) -> int:
    """Return how many ranges or lists of categories there are, 0 if an entry is neither."""
    n_infos = 0
    for match in re.finditer("[^ ]+", infos):
        entry = match.group()
        if not (_RANGE.fullmatch(entry) or _CODES.are_in(entry)):
            return 0
        n_infos += 1
    return n_infos


def _check_objective(header: dict[str, _Field], n_class: int) -> None:
    value = header["objective"].value
    name, *options = value[:_LONGEST_OBJECTIVE].split(" ")
    if not _OBJECTIVES.fullmatch(name) or len(value) > _LONGEST_OBJECTIVE:
        raise _wrong(header, "objective", f"{value[:40]!r} is unknown")
    sizes = {option for option in options if option.startswith("num_class:")}
    if name in ("multiclass", "multiclassova") and sizes != {f"num_class:{n_class}"}:
        raise _wrong(header, "objective", f"{name} needs num_class:{n_class}")
    slopes = [option for option in options if option.startswith("sigmoid:")]
    if name in ("binary", "multiclassova") and not (slopes and all(map(_is_slope, slopes))):
        raise _wrong(header, "objective", f"{name} needs sigmoid:<finite positive number>")


def _is_slope(option: str) -> bool:
    value = option.removeprefix("sigmoid:")
    return bool(re.fullmatch(FLOAT, value)) and 0 < float(value) < math.inf


def _read_tree(lines: _Lines, number: int) -> TreeBlock:
    if lines.take() != f"Tree={number}":
        raise lines.error(f"expected 'Tree={number}'")
    block = TreeBlock(number=number)
    while lines.peek():
        line = lines.take()
        key, equals, value = line.partition("=")
        if not equals or key in block.fields:
            raise lines.error(f"tree {number} has a line that is no key=value, or a key twice")
        block.fields[key] = value
        block.lines[key] = lines.n_read
        if len(block.fields) > _MAX_KEYS:
            raise lines.error(f"tree {number} has more than {_MAX_KEYS} keys")
    lines.skip_blank()
    return block


def _check_tree_sizes(header: dict[str, _Field], starts: list[int]) -> None:
    if "tree_sizes" not in header:
        return
    value = header["tree_sizes"].value
    sizes = [str(end - start) for start, end in zip(starts[:-1], starts[1:], strict=True)]
    if value == " ".join(sizes):
        return
    n_given = value.count(" ") + 1 if value else 0
    if n_given != len(sizes):
        raise _wrong(header, "tree_sizes", f"has {n_given} sizes for {len(sizes)} trees")
    given = value.split(" ")
    wrong = next(i for i, size in enumerate(sizes) if size != given[i])
    raise _wrong(
        header,
        "tree_sizes",
        f"tree {wrong} has {sizes[wrong]} bytes, not {given[wrong][:20]!r} (a change of line ends "
        "or a hand edit makes sizes wrong)",
    )


def _check_footer(lines: _Lines) -> None:
    """Check what follows the trees; every section but the trees' end may be absent."""
    report_seen = False
    while True:
        lines.skip_blank()
        if lines.at_end:
            _check_last_line(lines, "")
            return
        line = lines.take()
        if line == "feature_importances:":
            while not lines.at_end and (entry := lines.peek()):
                lines.take()
                if not re.fullmatch(r"\S+=[0-9]+", entry):
                    raise lines.error("feature_importances holds lines name=count")
        elif line == "parameters:":
            _check_parameters(lines)
        elif line.startswith(REPORT_KEY) and not report_seen:
            report_seen = True
            if not isinstance(_json(lines, line[len(REPORT_KEY) :], REPORT_KEY), dict):
                raise lines.error("the privacy report is no JSON object")
        elif line.startswith(PANDAS_KEY):
            categories = _json(lines, line[len(PANDAS_KEY) :], PANDAS_KEY)
            entries = categories if isinstance(categories, list) else [categories]
            if categories is not None and not all(isinstance(entry, list) for entry in entries):
                raise lines.error("pandas_categorical is null or a list of lists")
            if lines.skip_blank() > 1 or not lines.at_end:
                # LightGBM looks for the categories in the last line alone.
                raise lines.error("pandas_categorical must be the last line")
            _check_last_line(lines, line)
            return
        else:
            raise lines.error(f"{line[:40]!r} does not belong after the trees")


def _check_last_line(lines: _Lines, categories: str) -> None:
    """Check that LightGBM finds the categories where they are: it looks for them on its own."""
    text = lines.text
    found = text[text.rfind("\n", 0, -len(PANDAS_KEY)) :].strip()
    if (found if found.startswith(PANDAS_KEY) else "") != categories:
        raise lines.error("pandas_categorical must be the last line, and begin no other one")


def _check_parameters(lines: _Lines) -> None:
    report_seen = False
    while (line := lines.take()) != "end of parameters":
        if line.startswith(KEPT_KEY) and not report_seen:
            report_seen = True
            if not isinstance(_json(lines, line[len(KEPT_KEY) :], REPORT_KEY), dict):
                raise lines.error("the privacy report is no JSON object")
            continue
        parameter = PARAMETER_LINE.fullmatch(line)
        if line and not parameter:
            raise lines.error("a parameter is a line '[key: value]'")
        name, value = parameter.groups() if parameter else ("", "")
        if _NUMBERS.fullmatch(name) and not _is_number(value):
            raise lines.error(f"the parameter {name!r} is a number")
        if _LISTS.fullmatch(name):
            _json(lines, f"[{value}]", name)


def _is_number(value: str) -> bool:
    return bool(re.fullmatch(FLOAT, value)) and (
        value in ("inf", "-inf") or math.isfinite(float(value))
    )


def _json(lines: _Lines, text: str, key: str) -> object:
    if len(text) > _LONGEST_JSON:
        raise lines.error(f"{key!r} is longer than {_LONGEST_JSON} characters")
    try:
        return parse_json(text)
    except ValueError as error:
        raise lines.error(f"{key!r} is not followed by JSON") from error
