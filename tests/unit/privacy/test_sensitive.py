import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace
from dpboost.privacy.queries import Sensitive
from dpboost.privacy.sensitivity.bound import Sensitivity

SECRET = 8675309
L1 = Sensitivity("l1", 2, "test")


def secret():
    return Sensitive(np.array([SECRET, -SECRET]), (L1,))


LOOKS = {
    "==": lambda s: s == s,
    "!=": lambda s: s != 1,
    "<": lambda s: s < 1,
    ">=": lambda s: s >= 1,
    "array ==": lambda s: np.zeros(2) == s,
    "bool": bool,
    "len": len,
    "iter": list,
    "in": lambda s: SECRET in s,
    "index": lambda s: s[0],
    "hash": hash,
    "str": str,
    "format": lambda s: f"{s}",
    "percent": lambda s: "%s" % s,  # noqa: UP031
    "int": int,
    "float": float,
    "operator index": lambda s: [1][s],
    "round": round,
    "asarray": np.asarray,
    "array of list": lambda s: np.array([s], dtype=np.int64),
    "ufunc": np.negative,
    "ufunc right": lambda s: np.add(1, s),
    "array function": np.sum,
    "concatenate": lambda s: np.concatenate([s, s]),
    "+": lambda s: s + 1,
    "array +": lambda s: np.ones(2) + s,
    "-": lambda s: -s,
    "pickle": pickle.dumps,
    "pickle 2": lambda s: pickle.dumps(s, protocol=2),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "vars": vars,
    "memoryview": memoryview,
    "setattr": lambda s: setattr(s, "bounds", ()),
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS.keys())
def test_refuses_to_be_looked_at(look):
    with pytest.raises((TypeError, AttributeError)) as caught:
        look(secret())
    assert str(SECRET) not in str(caught.value)


def test_repr_shows_no_number():
    assert not any(character.isdigit() for character in repr(secret()).replace("l1", ""))


def test_map_stays_on_the_private_side(open_ledger):
    doubled = secret().map(lambda value: 2 * value, bounds=(Sensitivity("l1", 4, "doubled"),))
    assert isinstance(doubled, Sensitive)
    assert doubled.bound("l1").constant == 4
    assert doubled.unit == secret().unit
    ledger = open_ledger(epsilon=float("inf"))
    noisy = ledger.release(DiscreteLaplace(epsilon=float("inf")), doubled, label="x")
    np.testing.assert_array_equal(noisy, [2 * SECRET, -2 * SECRET])


def test_tells_the_noise_of_its_release():
    noise = DiscreteLaplace(epsilon=Fraction(1))
    assert secret().noise_stddev(noise) == noise.noise_stddev(L1)
    with pytest.raises(InvalidParameterError, match="kind 'l2'"):
        secret().noise_stddev(DiscreteGaussian(rho=Fraction(1)))


def test_wants_integers_and_bounds_of_different_kinds():
    for value in ([1, 2], np.array([1.0]), np.array([1], dtype=np.int32)):
        with pytest.raises(InvalidParameterError, match="int64"):
            Sensitive(value, (L1,))
    for bounds in ((), (L1, L1)):
        with pytest.raises(InvalidParameterError, match="bounds"):
            Sensitive(np.array([1]), bounds)


def test_two_bounds_on_one_value():
    value = Sensitive(np.array([1]), (L1, Sensitivity("l2", 3, "test")))
    assert value.bound("l1").constant == 2
    assert value.bound("l2").constant == 3
    with pytest.raises(InvalidParameterError, match="'range'.*l1, l2"):
        value.bound("range")


@pytest.mark.parametrize(
    "parameters",
    [("max", 1), ("l1", 0), ("l1", -1), ("l2", 1.5), ("l2", Fraction(3, 2)), ("l1", True)],
)
def test_bounds_are_positive_integers(parameters):
    with pytest.raises(InvalidParameterError):
        Sensitivity(*parameters, "test")
