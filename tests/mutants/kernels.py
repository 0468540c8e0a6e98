"""Bugs planted in kernels: a line of a source is changed, and what holds it is built again."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

RULE = "change a kernel"


@dataclass(frozen=True, kw_only=True)
class KernelMutant:
    """One change of one line.

    Parameters
    ----------
    source : str
        File in ``cython_ext``.
    old, new : str
        A text that the file has once, and what stands there instead.
    kernels : tuple of str
        Those that are rebuilt and tested.
    """

    source: str
    old: str
    new: str
    kernels: tuple[str, ...]

    @property
    def key(self) -> str:
        """Name that the results are kept by."""
        return f"{RULE}|{self.source}|{self.old}"


def _in(kernel: str, old: str, new: str) -> KernelMutant:
    return KernelMutant(source=f"{kernel}.pyx", old=old, new=new, kernels=(kernel,))


def _shared(source: str, old: str, new: str, *kernels: str) -> KernelMutant:
    return KernelMutant(source=source, old=old, new=new, kernels=kernels)


_NEWTON = ("newton", "training_pass")
KERNEL_MUTANTS = (
    # Noise that is smaller, of one sign, or left out where the source of bits fails.
    _in("noise", "2 * sigma * sigma)", "sigma * sigma)"),
    _in(
        "noise",
        "draw_laplace(&bits, numerator, denominator))",
        "draw_laplace(&bits, 2 * numerator, denominator))",
    ),
    _in("noise", "draw_gaussian(&bits, sigma))", "draw_gaussian(&bits, (sigma + 1) // 2))"),
    _in(
        "noise",
        "            out[i] = 0\n    return raise_pending()",
        "            pass\n    return raise_pending()",
    ),
    _in(
        "shares",
        "(process.part_numerator + honest - 1) // honest",
        "process.part_numerator // honest + (process.part_numerator < honest)",
    ),
    _in("shares", "+ up - down)", "+ up)"),
    _in(
        "shares",
        "while draw_bit(bits):\n            block += 1",
        "if draw_bit(bits):\n            block += 1",
    ),
    # Reports of devices that say the symbol too often.
    _in("local_reports", "answer if answer < symbol else answer + 1", "answer"),
    _in(
        "local_reports",
        "if certain or draw_word(bits) < own:",
        "if certain or draw_word(bits) >> 1 < own:",
    ),
    _in("local_reports", "(draw_word(&bits) >> 32) < digits", "(draw_word(&bits) >> 33) < digits"),
    # Choices that prefer the best more than they may, or ignore it.
    _in(
        "selection",
        "draw_exponential(&bits, &scores[row, 0], n, &levels, p, q)",
        "draw_exponential(&bits, &scores[row, 0], n, &levels, p + p, q)",
    ),
    _in(
        "runselection",
        "<row_t> draw(&bits, &runs, &levels, p, q)",
        "<row_t> draw(&bits, &runs, &levels, p + p, q)",
    ),
    _in(
        "runselection",
        "if position < length_of(runs, run):",
        "if position <= length_of(runs, run):",
    ),
    # Clips and filters that let a row move a sum further.
    _in(
        "gradient",
        "min(max(<double> narrow[i] * scale, -bound), bound)",
        "<double> narrow[i] * scale",
    ),
    _in("gradient", "_pack(<int> _clip(gradient, gradient_limit))", "_pack(<int> gradient)"),
    _in("gradient", "_within(difference, filter_limit) | (filter_limit < 0)", "1"),
    _shared(
        "_newton.pxd",
        "min(max(<int> p - (label << GRID_BITS), -limit), limit)",
        "<int> p - (label << GRID_BITS)",
        *_NEWTON,
    ),
    _shared(
        "_newton.pxd",
        "(limit << GRID_BITS) // max(value, limit) if limit > 0 else 0",
        "0",
        *_NEWTON,
    ),
    _in(
        "training_pass",
        "min(stop - first, ROWS_AT_ONCE), packed)\n    _unpack",
        "min(stop - first, ROWS_AT_ONCE - 1), packed)\n    _unpack",
    ),
    # Rows in another part of the data than their coin says, and coins that come twice.
    _in("coins", "thresholds[block] <= words[i]", "thresholds[block] < words[i]"),
    _in(
        "entropy",
        "if source.position == N_WORDS or source.forks != dpboost_forks:",
        "if source.position == N_WORDS:",
    ),
    _in(
        "leaf",
        "value = min(max(value, -clip), clip) * units_per_one",
        "value = value * units_per_one",
    ),
)


def changed(mutant: KernelMutant, root: Path) -> str:
    """Return the source with the change; the old text must stand there once."""
    source = (root / "cython_ext" / mutant.source).read_text()
    if source.count(mutant.old) != 1:
        raise ValueError(f"{mutant.source} does not have once: {mutant.old}")
    return source.replace(mutant.old, mutant.new)


def line_of(mutant: KernelMutant, root: Path) -> int:
    """Return the line of the change."""
    source = (root / "cython_ext" / mutant.source).read_text()
    return source[: source.index(mutant.old)].count("\n") + 1


def built(mutant: KernelMutant, root: Path, work: Path) -> Path:
    """Build the kernels of a mutant in a folder of its own, and return where they lie."""
    folder = work / hashlib.sha256(mutant.key.encode()).hexdigest()[:12]
    shutil.rmtree(folder, ignore_errors=True)
    sources = folder / "cython_ext"
    sources.mkdir(parents=True)
    (folder / "dpboost" / "_kernels").mkdir(parents=True)
    shutil.copy(root / "setup.py", folder)
    kept = {f"{name}.pyx" for name in mutant.kernels}
    for path in (root / "cython_ext").iterdir():
        if path.suffix == ".pxd" or path.name in kept:
            shutil.copy(path, sources / path.name)
    (sources / mutant.source).write_text(changed(mutant, root))
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "dpboost" / "_kernels"


def files(folder: Path, mutant: KernelMutant) -> Iterator[tuple[str, Path]]:
    """Yield dotted name and file of each rebuilt kernel, the one that this machine would load."""
    for kernel in mutant.kernels:
        fast = sorted((folder / "v3").glob(f"{kernel}.*.so"))
        plain = sorted(folder.glob(f"{kernel}.*.so"))
        yield f"dpboost._kernels.{kernel}", (fast or plain)[0]


def tests_of(mutant: KernelMutant) -> list[str]:
    """Return the tests of the kernels, then those of what draws and adds up by them."""
    own = [f"tests/unit/kernels/test_{kernel}.py" for kernel in mutant.kernels]
    return [*own, "tests/unit/privacy", "tests/unit/losses", "tests/unit/rows", "tests/unit/local"]
