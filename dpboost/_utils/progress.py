"""Progress of long fits: completed rounds, spent budget, and remaining time.

The running time of a fit depends on its rows. Someone who watches a fit can measure it anyway, but
it must not be stored. Therefore the remaining time is shown on a terminal only, and erased when the
fit ends; files, pipes and loggers get no line, and a notebook, whose cells are saved, gets a line
without times.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

BAR_FORMAT = "{desc}: {n_fmt} of {total_fmt} rounds{postfix}, {remaining} left |{bar}|"
#: Shorter fits show nothing.
DELAY_SECONDS = 2.0
#: A notebook draws its line again after this time at the earliest.
REDRAW_SECONDS = 0.5


@contextmanager
def round_progress(
    n_rounds: int, *, show: bool, spent: Callable[[], float]
) -> Iterator[Callable[[], None]]:
    """Yield a function to be called after each round.

    Without ``show`` there is silence. Otherwise a line appears on a terminal, or in a notebook,
    after two seconds, and is wiped at the end. ``spent`` returns the part of the budget that is
    recorded so far, a public number.

    Privacy
    -------
    Rounds and the part of the budget are public. The time left is shown on a terminal only: see
    the head of this module.
    """
    if not show:
        yield lambda: None
        return
    cell = _notebook_cell()
    bar = tqdm(
        total=n_rounds,
        desc="dpboost",
        bar_format=BAR_FORMAT,
        delay=DELAY_SECONDS,
        disable=None if cell is None else True,  # shown on a terminal only
        leave=False,
    )
    done, started, drawn = 0, time.monotonic(), 0.0

    def on_round() -> None:
        nonlocal done, drawn
        done += 1
        part = f"{100 * spent():.0f} % of the budget"
        if not bar.disable:
            bar.set_postfix_str(part, refresh=False)
            bar.update(1)
        now = time.monotonic()
        if cell is not None and now - started > DELAY_SECONDS and now - drawn > REDRAW_SECONDS:
            drawn = now
            cell(f"dpboost: {done} of {n_rounds} rounds, {part}")

    with bar:
        try:
            yield on_round
        finally:
            if cell is not None and drawn:
                cell("")


def _notebook_cell() -> Callable[[str], None] | None:
    """Return what replaces the line of a notebook's cell, or None outside of notebooks."""
    ipython = sys.modules.get("IPython")
    shell: Any = None if ipython is None else ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display

    handle: Any = None

    def show(line: str) -> None:
        nonlocal handle
        plain = {"text/plain": line}
        if handle is None:
            handle = display(plain, raw=True, display_id=True)
        else:
            handle.update(plain, raw=True)

    return show
