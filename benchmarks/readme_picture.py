"""The picture at the head of the README: ``python -m benchmarks.readme_picture``.

It is drawn of ``results/curve.csv`` alone, and names the state of that file.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from pathlib import Path

from benchmarks.files import write_atomically
from benchmarks.harness.results import Result, read
from benchmarks.harness.run import RESULTS
from benchmarks.harness.style import Panel, draw

SOURCE = RESULTS / "curve.csv"
PICTURE = RESULTS.parents[1] / "docs" / "images" / "accuracy-epsilon.png"
METHODS = ("best", "DP-EBM", "LightGBM")
_PANELS = (
    ("adult", "AUC", "Adult, 39,073 rows: AUC, higher is better", None),
    ("abalone", "RMSE", "Abalone, 3,341 rows: RMSE, lower is better", (2.0, 3.4)),
)
_KEY = "Made of"


def shown(rows: list[Result], data: str, measure: str) -> list[Result]:
    """Return the numbers of a panel: those of three methods, LightGBM without privacy."""
    return [
        row
        for method in METHODS
        for row in rows
        if (row.data, row.measure, row.method) == (data, measure, method)
    ]


def picture(source: Path = SOURCE) -> bytes:
    """Return a PNG image that names the digest of the file it is made of."""
    rows = read(source).measured()
    image = draw(
        [
            Panel(
                title=title,
                x_label="epsilon",
                y_label=f"{measure} on held-out rows",
                rows=shown(rows, data, measure),
                log_x=True,
                limits=limits,
                ticks=True,
            )
            for data, measure, title, limits in _PANELS
        ]
    )
    return _with_text(image, _KEY, digest(source))


def digest(source: Path = SOURCE) -> str:
    """Return the state of the file of results."""
    return hashlib.sha256(source.read_bytes()).hexdigest()


def made_of(image: bytes) -> str | None:
    """Return the digest that an image names."""
    found = image.find(b"tEXt" + _KEY.encode() + b"\0")
    if found < 0:
        return None
    (length,) = struct.unpack(">I", image[found - 4 : found])
    return image[found + 4 + len(_KEY) + 1 : found + 4 + length].decode()


def _with_text(image: bytes, key: str, text: str) -> bytes:
    """Put a text chunk before the end of a PNG image."""
    body = b"tEXt" + key.encode() + b"\0" + text.encode()
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    end = image.rindex(b"IEND") - 4
    return image[:end] + chunk + image[end:]


if __name__ == "__main__":
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(PICTURE, picture())
    print(PICTURE)
