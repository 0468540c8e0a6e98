"""Configuration files of commands: one JSON object, paths relative to the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpboost._utils.json_text import parse_json
from dpboost._utils.validation import InvalidParameterError


def read_configuration(
    path: str, *, needed: Sequence[str], optional: Sequence[str], paths: Sequence[str]
) -> dict[str, Any]:
    """Read a configuration.

    It is a JSON file with one object, of required and optional names. Values that are ``paths`` are
    relative to the folder of the file.
    """
    try:
        found = parse_json(Path(path).read_text("utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InvalidParameterError(f"The file {path!r} must hold one JSON object.")
    missing = [name for name in needed if name not in found]
    unknown = sorted(set(found) - {*needed, *optional})
    if missing or unknown:
        said = [f"lacks {', '.join(missing)}"] if missing else []
        said += [f"has unknown names {', '.join(unknown)}"] if unknown else []
        raise InvalidParameterError(
            f"The configuration {path!r} {' and '.join(said)}. It takes "
            f"{', '.join((*needed, *optional))}."
        )
    folder = Path(path).absolute().parent
    own = {name: str(folder / str(found[name])) for name in paths if found.get(name) is not None}
    return {**found, **own}
