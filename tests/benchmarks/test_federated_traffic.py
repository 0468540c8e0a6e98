from benchmarks.federated import traffic


def test_every_recipe_is_weighed(tmp_path, capsys):
    assert traffic.main(["--folder", str(tmp_path), "--trees", "1"]) == 0
    text = (tmp_path / "federated-traffic.md").read_text()
    assert capsys.readouterr().out == text
    for recipe, _ in (*traffic.FITS, *traffic.TREES):
        assert f"| {recipe} |" in text


def test_numbers_are_for_one_tree():
    one = traffic.Traffic(recipe="x", settings="", trees=4, exchanges=8, down=100, up=40)
    assert one.per_tree == (2, 25, 10)
