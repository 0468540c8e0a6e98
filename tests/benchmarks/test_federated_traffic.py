from benchmarks.federated import traffic
from benchmarks.harness.run import Request, carry_out


def test_every_recipe_is_weighed(tmp_path):
    text = carry_out(traffic.FEDERATED_TRAFFIC, tmp_path, Request(repeats=1), progress=False)
    for recipe, _ in (*traffic.FITS, *traffic.TREES):
        assert f"| {recipe} |" in text


def test_numbers_are_for_one_tree():
    one = traffic.Traffic(recipe="x", settings="", trees=4, exchanges=8, down=100, up=40)
    assert one.per_tree == (2, 25, 10)
