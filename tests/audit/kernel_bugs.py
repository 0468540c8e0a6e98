"""Samplers with a bug, to be put in the place of the kernels."""

from __future__ import annotations

from typing import Any

import numpy as np


class Wrapped:
    """A kernel module of which some functions are others."""

    def __init__(self, kernel: Any, **functions: Any) -> None:
        self._kernel = kernel
        vars(self).update(functions)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)


def cut_selection(kernel, nats):
    """Select among the candidates that are no more than so many nats below the best one."""

    def cut(function):
        def select(bits, scores, numerator, denominator, chosen):
            for node, row in enumerate(scores):
                near = np.flatnonzero((row.max() - row) * numerator <= nats * denominator)
                some = np.ascontiguousarray(row[near][np.newaxis])
                position = np.empty(1, dtype=np.int32)
                function(bits, some, numerator, denominator, position)
                chosen[node] = near[position[0]]

        return select

    return Wrapped(
        kernel,
        exponential=cut(kernel.exponential),
        permute_and_flip=cut(kernel.permute_and_flip),
    )


def cut_run_selection(kernel, nats):
    """The same for scores in runs."""

    def exponential(bits, scores, starts, node_start, n, numerator, denominator, chosen):
        for node in range(len(chosen)):
            own = slice(node_start[node], node_start[node + 1])
            first, lengths = starts[own], np.diff(np.append(starts[own], n))
            far = (scores[own].max() - scores[own]) * numerator > nats * denominator
            lengths = np.where(far, 0, lengths)
            kept = np.flatnonzero(lengths)
            moved = np.concatenate([[0], np.cumsum(lengths[kept])]).astype(np.int32)
            position = np.empty(1, dtype=np.int32)
            kernel.exponential(
                bits,
                np.ascontiguousarray(scores[own][kept]),
                moved[:-1].copy(),
                np.array([0, len(kept)], dtype=np.intp),
                int(moved[-1]),
                numerator,
                denominator,
                position,
            )
            run = int(np.searchsorted(moved, position[0], "right")) - 1
            chosen[node] = first[kept[run]] + position[0] - moved[run]

    return Wrapped(kernel, exponential=exponential)


def cut_noise(kernel, scales):
    """Noise that goes no further than so many scales."""

    def laplace(bits, value, numerator, denominator, out):
        kernel.discrete_laplace(bits, value, numerator, denominator, out)
        most = scales * denominator // numerator
        out[:] = np.clip(out, value - most, value + most)

    def gaussian(bits, value, sigma, out):
        kernel.discrete_gaussian(bits, value, sigma, out)
        out[:] = np.clip(out, value - scales * sigma, value + scales * sigma)

    return Wrapped(kernel, discrete_laplace=laplace, discrete_gaussian=gaussian)
