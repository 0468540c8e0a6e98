"""A progress bar for long fits: numbers of trees, and how much of the budget is spent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm

# Elapsed time depends on the rows, so the bar holds none.
BAR_FORMAT = "{desc}: {n_fmt} of {total_fmt} trees{postfix} |{bar}|"
DELAY_SECONDS = 2.0


@contextmanager
def tree_progress(
    n_trees: int, *, show: bool, spent: Callable[[], float]
) -> Iterator[Callable[[], None]]:
    """Yield a function to be called after each tree.

    Parameters
    ----------
    n_trees : int
        Public number of trees.
    show : bool
        False for silence. Otherwise the bar appears on a terminal after two seconds.
    spent : callable
        Returns the part of the budget that is booked so far, a public number.
    """
    if not show:
        yield lambda: None
        return
    bar = tqdm(
        total=n_trees,
        desc="dpboost",
        bar_format=BAR_FORMAT,
        delay=DELAY_SECONDS,
        disable=None,  # shown on a terminal only
        leave=False,
    )

    def on_tree() -> None:
        if not bar.disable:
            bar.set_postfix_str(f"{100 * spent():.0f} % of the budget", refresh=False)
            bar.update(1)

    with bar:
        yield on_tree
