"""Steps that lean on the nodes above, against a walk from the root."""

import numpy as np
import pytest

from dpboost.growing.shrunken_leaves import LeafRules, ShrunkenLeaf
from tests.unit.binned_table import leaves_below

LEAF = ShrunkenLeaf(reg_lambda=2.0, prior=0.5)


def walked(partition, gradients, hessians, noise_stddev, path_smooth, least_hessian):
    found = np.empty(partition.n_leaves)

    def own(leaves):
        n = len(leaves)
        g, h = gradients[leaves].sum(), np.maximum(hessians[leaves], 0).sum()
        spread = (noise_stddev * np.sqrt(n) / (h + 2.0)) ** 2
        step = -g / (h + 2.0) * 0.25 / (0.25 + spread)
        return float(np.clip(step, -2, 2)), h

    def walk(child, above):
        step, h = own(leaves_below(partition, child))
        if above is not None:
            step = (
                above
                if h < least_hessian
                else (h * step + path_smooth * above) / max(h + path_smooth, 1e-300)
            )
        if child < 0:
            found[~child] = step
        else:
            walk(int(partition.left[child]), step)
            walk(int(partition.right[child]), step)

    walk(0 if len(partition.left) else -1, None)
    return found


@pytest.mark.parametrize(("path_smooth", "least_hessian"), [(5.0, 0.0), (0.0, 30.0), (9.0, 12.0)])
def test_steps_are_those_of_a_walk_from_the_root(partitions, path_smooth, least_hessian):
    random = np.random.default_rng(0)
    rules = LeafRules(leaf=LEAF, path_smooth=path_smooth, least_hessian=least_hessian)
    for partition in partitions:
        shape = (2, partition.n_leaves)
        gradients, hessians = random.normal(0, 20, shape), random.normal(10, 20, shape)
        steps = rules.steps(partition, gradients, hessians, 3.0)
        for own, g, h in zip(steps, gradients, hessians, strict=True):
            expected = walked(partition, g, h, 3.0, path_smooth, least_hessian)
            np.testing.assert_allclose(own, expected, rtol=1e-12, atol=1e-12)


def test_without_rules_leaves_stand_alone(partitions):
    assert LeafRules.of(LEAF, None, None) is LeafRules.of(LEAF, 0.0, 0) is None
    rules = LeafRules.of(LEAF, None, 4.0)
    assert rules == LeafRules(leaf=LEAF, least_hessian=4.0)
    gradients, hessians = np.ones((1, 1)), np.full((1, 1), 7.0)
    # A root has no node above it.
    np.testing.assert_array_equal(
        rules.steps(partitions[0], gradients, hessians, 3.0),
        LEAF.steps(gradients, hessians, 3.0),
    )


def test_a_large_path_smooth_leaves_one_step_for_all(partitions):
    partition = partitions[2]
    gradients, hessians = np.ones((1, partition.n_leaves)), np.full((1, partition.n_leaves), 4.0)
    steps = LeafRules(leaf=LEAF, path_smooth=1e12).steps(partition, gradients, hessians, 0.0)
    assert np.ptp(steps) < 1e-9
