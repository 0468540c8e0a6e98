"""From an empty environment to model, pictures and certificate, in the time that is promised."""

from benchmarks.first_hour import FILES, MOST_SECONDS, run


def test_a_model_in_at_most_five_commands_and_five_minutes(clone, tmp_path):
    found = run(tmp_path, f"{clone()}[pandas]")
    print()
    for timed in found:
        print(timed)
    assert len(found) <= 5
    assert sum(timed.seconds for timed in found) <= MOST_SECONDS
    assert "<svg" in (tmp_path / "model.html").read_text(encoding="utf-8")
    assert {path.name for path in tmp_path.iterdir()} >= set(FILES)
