"""Check a model text before LightGBM's parser sees it.

LightGBM trusts the text: a wrong offset or a missing key ends the process, a child index out of
range reads foreign memory, a short ``left_child`` makes prediction loop for ever. What passes
here is complete, consistent and safe to load; what does not raises an ordinary error.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from dpboost.lightgbm.model_text.footer import PANDAS_KEY, PARAMETER_LINE, REPORT_KEY
from dpboost.lightgbm.model_text.parser import TreeBlock, check_tree
from dpboost.lightgbm.model_text.syntax import FLOAT, INTEGER, ModelTextError

__all__ = ["ModelTextError", "check_model_text"]

_REQUIRED = ("num_class", "label_index", "max_feature_idx", "feature_names", "feature_infos")
_OBJECTIVES = re.compile(
    "regression(_l1|_l2)?|l1|l2|mse|mae|rmse|huber|fair|poisson|quantile|mape|gamma|tweedie|binary|"
    "multiclass|multiclassova|cross_entropy(_lambda)?|xentropy|xentlambda|lambdarank|rank_xendcg|"
    "custom|none"
)
_MAX_KEYS = 22  # LightGBM reads no more lines of a tree
_INFO = re.compile(rf"none|\[(?:{FLOAT}):(?:{FLOAT})\]|{INTEGER}(?::{INTEGER})*")


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
    n_features, trees_per_round = _check_header(header, lines)
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
    """The lines of the text with their numbers and byte offsets."""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise ModelTextError(f"A model text is a str. Got {type(text).__name__} instead.")
        if "\0" in text or re.search(r"\r(?!\n)", text):
            raise ModelTextError("The text holds a NUL or a lone carriage return.")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ModelTextError("The text cannot be encoded as UTF-8.") from error
        self.lines = text.split("\n")
        self.n_read = 0
        self.offset = 0

    def peek(self) -> str:
        if self.n_read == len(self.lines):
            raise self.error("the text ends early")
        return self.lines[self.n_read].removesuffix("\r")

    def take(self) -> str:
        line = self.peek()
        self.offset += len(self.lines[self.n_read].encode()) + 1
        self.n_read += 1
        return line

    def skip_blank(self) -> int:
        """Skip empty lines and return how many there were."""
        before = self.n_read
        while not self.at_end and not self.peek():
            self.take()
        return self.n_read - before

    @property
    def at_end(self) -> bool:
        # The piece after the last line end is no line.
        return self.n_read >= len(self.lines) - (self.lines[-1] == "")

    def error(self, what: str) -> ModelTextError:
        """Return the error for the line read last."""
        return ModelTextError(f"Line {self.n_read} of the model text: {what}.")


def _read_header(lines: _Lines) -> dict[str, _Field]:
    header: dict[str, _Field] = {}
    while not (lines.peek().startswith("Tree=") or lines.peek() == "end of trees"):
        line = lines.take()
        if not line:
            continue
        key, _, value = line.partition("=")
        if key in header or not key:
            raise lines.error(f"the header names {key!r} twice or not at all")
        if "=" in value and key not in ("feature_names", "monotone_constraints"):
            raise lines.error(f"two '=' in header field {key!r}")
        header[key] = _Field(lines.n_read, value)
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


def _check_header(header: dict[str, _Field], lines: _Lines) -> tuple[int, int]:
    """Check the header and return the numbers of features and of trees in a round."""
    n_class = _header_integer(header, "num_class", 1, 2**31 - 1)
    _header_integer(header, "label_index", 0, 2**31 - 1)
    n_features = _header_integer(header, "max_feature_idx", 0, 2**31 - 2) + 1
    if "num_tree_per_iteration" in header:
        # LightGBM writes one output a tree of the round into a buffer of num_class outputs.
        _header_integer(header, "num_tree_per_iteration", n_class, n_class)
    names = header["feature_names"].value.split(" ")
    if len(names) != n_features or "" in names or any(c < " " or c == '"' for c in "".join(names)):
        raise _wrong(header, "feature_names", f"must be {n_features} names with a blank between")
    infos = header["feature_infos"].value.split(" ")
    if len(infos) != n_features or not all(_INFO.fullmatch(info) for info in infos):
        raise _wrong(header, "feature_infos", f"must be {n_features} ranges or category lists")
    if "monotone_constraints" in header:
        signs = header["monotone_constraints"].value.split(" ")
        if len(signs) != n_features or not set(signs) <= {"-1", "0", "1"}:
            raise _wrong(header, "monotone_constraints", f"must be {n_features} of -1, 0 and 1")
    if "objective" in header:
        _check_objective(header, n_class)
    return n_features, n_class


def _check_objective(header: dict[str, _Field], n_class: int) -> None:
    value = header["objective"].value
    name, *options = value.split(" ")
    if not _OBJECTIVES.fullmatch(name):
        raise _wrong(header, "objective", f"{value[:40]!r} is unknown")
    if name in ("multiclass", "multiclassova") and f"num_class:{n_class}" not in options:
        raise _wrong(header, "objective", f"{name} needs num_class:{n_class}")
    if name in ("binary", "multiclassova") and not any(
        re.fullmatch(f"sigmoid:(?:{FLOAT})", option) for option in options
    ):
        raise _wrong(header, "objective", f"{name} needs sigmoid:<number>")


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
    given = value.split(" ") if value else []
    if len(given) != len(sizes):
        raise _wrong(header, "tree_sizes", f"has {len(given)} sizes for {len(sizes)} trees")
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
            if not isinstance(_json(lines, line, REPORT_KEY), dict):
                raise lines.error("the privacy report is no JSON object")
        elif line.startswith(PANDAS_KEY):
            categories = _json(lines, line, PANDAS_KEY)
            entries = categories if isinstance(categories, list) else [categories]
            if categories is not None and not all(isinstance(entry, list) for entry in entries):
                raise lines.error("pandas_categorical is null or a list of lists")
            if lines.skip_blank() > 1 or not lines.at_end:
                # LightGBM looks for the categories in the last line alone.
                raise lines.error("pandas_categorical must be the last line")
            return
        else:
            raise lines.error(f"{line[:40]!r} does not belong after the trees")


def _check_parameters(lines: _Lines) -> None:
    while (line := lines.take()) != "end of parameters":
        if line and not PARAMETER_LINE.fullmatch(line):
            raise lines.error("a parameter is a line '[key: value]'")


def _json(lines: _Lines, line: str, key: str) -> object:
    try:
        return json.loads(line[len(key) :])
    except (ValueError, RecursionError) as error:
        raise lines.error(f"{key!r} is not followed by JSON") from error
