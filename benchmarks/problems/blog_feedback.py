"""BlogFeedback: how many comments does a blog post get in the next 24 hours?"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.errors import DataFileError
from benchmarks.files import PublishedFile
from benchmarks.problems.originals import ORIGINALS
from benchmarks.problems.problem import DataDictionary, Problem
from benchmarks.problems.tables import declared_frame, numbers, read_table, same_bounds

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

_FILE = PublishedFile(
    path="blog_feedback/BlogFeedback.zip",
    url=None,
    original=ORIGINALS["blog_feedback/BlogFeedback.zip"],
    sha256="f0fef7c16080b5e48ea589ede8d3f0448fe820d82a9aa7c7e66d331b1e028ae0",
)
_MEMBER = "blogData_train.csv"
_NAMES = tuple(f"a{number}" for number in range(1, 281))
_DICTIONARY = DataDictionary(
    # By the publisher's list of attributes; "a1" is the first. Most posts have few comments, and
    # no post is expected to get more than 1,500 in a day.
    bounds=same_bounds(_NAMES[:50], -1_500, 1_500)  # statistics of the ten counts that follow
    | same_bounds(_NAMES[50:60], -1_500, 1_500)  # comments and links, and their changes
    | {"a61": (0, 72), "a62": (0, 50_000)}  # hours since the post, and its length
    | same_bounds(_NAMES[62:276], 0, 1)  # frequent words and days of the week
    | same_bounds(_NAMES[276:], 0, 1_500),  # parent pages and their comments
    label_bounds=(0, 1_500),
)


def _read(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    path = paths[_FILE.path]
    try:
        with zipfile.ZipFile(path) as archive, archive.open(_MEMBER) as stream:
            raw = read_table(stream, 281, header=None)
    except (KeyError, zipfile.BadZipFile) as error:
        raise DataFileError(f"{path} does not hold {_MEMBER}: {error}") from error
    raw.columns = [*_NAMES, "label"]
    return declared_frame(raw, _DICTIONARY), numbers(raw["label"], "label")


BLOG_FEEDBACK = Problem(
    name="blog_feedback",
    task="regression",
    files=(_FILE,),
    dictionary=_DICTIONARY,
    read=_read,
    source="https://archive.ics.uci.edu/dataset/304/blogfeedback",
)
