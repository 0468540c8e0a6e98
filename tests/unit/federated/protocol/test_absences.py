"""What parties that were lost are told when they are back."""

from dpboost.federated.protocol.absences import Absences


def test_a_party_is_told_what_it_may_not_have_taken_in():
    absent = Absences(3)
    absent.told(0, 1, ("a",), [0, 1, 2])
    absent.told(1, 3, ("b",), [0, 2])
    absent.told(2, 1, (), [0])
    assert [(number, orders) for number, _, orders in absent.missed(1)] == [(1, ("b",)), (2, ())]
    assert [number for number, _, _ in absent.missed(2)] == [2]
    assert list(absent.missed(0)) == []


def test_an_attempt_is_never_made_twice():
    absent = Absences(2)
    absent.told(0, 2, ("a",), [0])
    attempts = [next(absent.missed(1))[1] for _ in range(3)]
    assert len(set(attempts)) == 3
    assert min(attempts) >= 2


def test_what_all_have_taken_in_is_forgotten():
    absent = Absences(2)
    for number in range(5):
        absent.told(number, 1, ("a",), [0, 1])
    assert absent._told == {}
    absent.told(5, 1, ("b",), [0])
    assert list(absent._told) == [5]
