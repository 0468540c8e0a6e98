from dpboost.growing.frontier import BestFirst, DepthWise
from dpboost.trees.growing_tree import Splits


def test_a_whole_level_is_made_once(splits):
    frontier = DepthWise()
    frontier.push(splits([1, 2, 5]))
    assert frontier.pop().node.tolist() == [1, 2, 5]
    assert len(frontier.pop()) == 0


def test_the_highest_priority_first_and_the_older_of_equals(splits):
    frontier = BestFirst(10)
    frontier.push(splits([1, 2], priority=[1.0, -3.0], feature=[4, 5]))
    frontier.push(splits([3, 4], priority=[1.0, 7.0], feature=[6, 7]))
    frontier.push(Splits.none())
    order = [frontier.pop() for _ in range(5)]
    assert [part.node.tolist() for part in order] == [[4], [1], [3], [2], []]
    assert [part.feature.tolist() for part in order] == [[7], [4], [6], [5], []]


def test_a_public_number_of_splits(splits):
    frontier = BestFirst(2)
    frontier.push(splits([1, 2, 3], priority=[1, 2, 3]))
    assert [len(frontier.pop()) for _ in range(4)] == [1, 1, 0, 0]
