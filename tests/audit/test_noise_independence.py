"""Draws that depend on each other are found, whatever the lag; those of the library do not."""

from __future__ import annotations

from contextlib import ExitStack
from unittest import mock

import numpy as np
import pytest

from dpboost.audit.noise_independence import dependent_noise, ordinary_fits
from tests.audit.kernel_bugs import Wrapped
from tests.audit.positions import found, planted

FITS = ordinary_fits()


def test_draws_of_the_library_are_independent():
    assert dependent_noise(FITS) == []


def mutated_draw(position, change):
    """Patch a mechanism so that its noise is changed before it is added."""
    original = found(position)[2]

    def draw(self, value, bound, entropy):
        noise = original(self, value, bound, entropy) - value
        return value + change(noise)

    return [planted(position, draw)]


def of_the_class_before(factor):
    """Use the noise of one output for the next, rescaled."""

    def change(noise):
        if noise.ndim == 3 and noise.shape[1] > 1:
            noise[:, 1:] = np.rint(noise[:, :-1] * factor)
        return noise

    return change


def hessians_from_gradients(noise):
    if noise.ndim == 3:
        noise[1] = -noise[0]
    return noise


def backwards(noise):
    if noise.ndim == 3:
        noise[1] = noise[0][..., ::-1]
    return noise


def every_draw_twice(kernel):
    def gaussian(bits, value, scale, out):
        kernel.discrete_gaussian(bits, value, scale, out)
        n = len(out) // 2 * 2
        out[1:n:2] = value[1:n:2] + (out - value)[0:n:2]

    return Wrapped(kernel, discrete_gaussian=gaussian)


def every_choice_twice(kernel):
    def exponential(*arguments):
        kernel.exponential(*arguments)
        chosen = arguments[-1]
        chosen[1::2] = chosen[: len(chosen) // 2 * 2 : 2]

    return Wrapped(kernel, exponential=exponential)


BUGS = {
    "the draw of a class used for the next one": lambda: mutated_draw(
        "draw of Gaussian noise", of_the_class_before(1)
    ),
    "the draw of a class rescaled for the next one": lambda: mutated_draw(
        "draw of Gaussian noise", of_the_class_before(0.7)
    ),
    "the draw of a class used for the next one, pure": lambda: mutated_draw(
        "draw of Laplace noise", of_the_class_before(1)
    ),
    "hessians take the noise of gradients with the other sign": lambda: mutated_draw(
        "draw of Gaussian noise", hessians_from_gradients
    ),
    "hessians take the noise of gradients backwards": lambda: mutated_draw(
        "draw of Gaussian noise", backwards
    ),
    "a kernel that uses each draw twice": lambda: [
        planted("noise kernel", every_draw_twice(found("noise kernel")[2]))
    ],
    "nodes that share their choice in pairs": lambda: [
        planted(
            "selection kernel of runs", every_choice_twice(found("selection kernel of runs")[2])
        )
    ],
}


@pytest.mark.parametrize("bug", BUGS)
def test_dependent_draws_are_found(bug):
    with ExitStack() as stack:
        for patch in BUGS[bug]():
            stack.enter_context(mock.patch.object(*patch))
        violations = dependent_noise(FITS[:5])
    assert {violation.check for violation in violations} == {"independent noise"}
