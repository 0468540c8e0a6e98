import numpy as np
import pytest

from dpboost import InvalidParameterError
from dpboost.local.label_levels import ClassLabels, NumericLabels, labels_from_dict, score_grid


def test_labels_are_clipped_and_placed():
    labels = NumericLabels(lower=10, upper=20, n_levels=3)
    positions = labels.positions(np.array([-1e300, 10, 12.5, 15, 20, 1e300]))
    assert (positions / 2**32).tolist() == [0, 0, 0.5, 1, 2, 2]
    assert labels.targets(np.array([12.5])).tolist() == [[-0.5]]


def test_a_wide_range_does_not_overflow():
    labels = NumericLabels(lower=-1e30, upper=1e30)
    assert (labels.positions(np.array([-1e300, 0, 1e300])) / 2**32).tolist() == [0, 0.5, 1]


def test_unknown_classes_have_no_position():
    labels = ClassLabels(classes=("dog", "cat"))
    assert labels.classes == ("cat", "dog")
    positions = labels.positions(labels.read(["dog", "cat", "cow"]))
    assert positions.tolist() == [1 << 32, 0, -1]
    with pytest.raises(InvalidParameterError, match="'y_public'"):
        labels.targets(labels.read(["cow"]))


@pytest.mark.parametrize(
    "labels", [NumericLabels(lower=-1, upper=3, n_levels=9), ClassLabels(classes=(0, 1, 5))]
)
def test_labels_survive_their_dict(labels):
    assert labels_from_dict(labels.to_dict()) == labels


def test_the_objective_is_that_of_the_labels():
    assert score_grid(NumericLabels(lower=0, upper=1))[0] == "regression"
    assert score_grid(ClassLabels(classes=(0, 1)))[0] == "binary sigmoid:1"
    assert score_grid(ClassLabels(classes=(0, 1, 2)))[0] == "multiclass num_class:3"


@pytest.mark.parametrize("bounds", [(1, 1), (2, 1), (0, np.inf), (1, 1 + 1e-15)])
def test_bad_bounds_are_refused(bounds):
    with pytest.raises(InvalidParameterError, match="label_bounds"):
        NumericLabels(lower=bounds[0], upper=bounds[1])


@pytest.mark.parametrize("n_levels", [1, 65, 2.0, True])
def test_bad_levels_are_refused(n_levels):
    with pytest.raises(InvalidParameterError, match="n_levels"):
        NumericLabels(lower=0, upper=1, n_levels=n_levels)
