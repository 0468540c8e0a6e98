"""Models and reports are those that are stored."""

import pytest

from tests import golden


@pytest.mark.parametrize("case", golden.CASES)
def test_the_model_and_its_report_are_the_stored_ones(case):
    if case.startswith("dask"):
        pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    text, report = golden.made(case)
    assert text == (golden.FOLDER / f"{case}.txt").read_text(encoding="utf-8")
    assert report == (golden.FOLDER / f"{case}.json").read_text(encoding="utf-8")


def test_every_stored_file_has_a_case():
    stored = {path.stem for path in golden.FOLDER.iterdir()}
    assert stored == set(golden.CASES)


@pytest.mark.parametrize("recipe", ["best", "dpboost", "para", "seq"])
def test_dask_trains_the_local_model(recipe):
    local = (golden.FOLDER / f"regression-{recipe}.txt").read_text(encoding="utf-8")
    assert (golden.FOLDER / f"dask-{recipe}.txt").read_text(encoding="utf-8") == local
