from benchmarks.federated import scale
from benchmarks.harness.run import Request, carry_out


def test_a_small_fit_is_measured(tmp_path, monkeypatch):
    tiny = scale.Size(parties=2, rows=50, features=2, rounds=3)
    monkeypatch.setattr(scale, "QUICK", (tiny,))
    text = carry_out(scale.FEDERATED_SCALE, tmp_path, Request(quick=True), progress=False)
    (line,) = (line for line in text.splitlines() if line.startswith("| 2 | 50 x 2 | 3 |"))
    cells = [cell.strip() for cell in line.split("|")[1:-1]]
    assert float(cells[5]) > 0.05
    # Keys, what the rows are told and the start value come before the three rounds.
    assert 1 < float(cells[6]) < 4
    assert min(float(cells[7]), float(cells[8])) > 0.5
