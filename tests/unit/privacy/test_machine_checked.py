"""The package agrees with its machine-checked proofs: constants, samplers, and the table of claims.

The tables are printed by programs that are extracted from the proofs (`make -C proofs`); they are
stored, so that no test needs Coq. The nightly stage `proofs` makes them anew and compares.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import re
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dpboost._kernels import noise
from dpboost._kernels.entropy import SystemEntropy
from dpboost.federated.training.level_queries import LeafTotals, LevelSums
from dpboost.losses.newton_loss import GRADIENT_UNIT
from dpboost.privacy import exact_arithmetic
from dpboost.privacy.sensitivity import constants, histograms, quantiles
from dpboost.privacy.sensitivity.bound import ContributionBound, Neighbors
from dpboost.rows import class_queries, evaluation_queries, loss_change, raw_rows
from dpboost.rows.boosting_queries import GRADIENT_FACTOR, LeafSums, SumScale
from dpboost.rows.cell_counts import Magnitudes, RangeCounts
from dpboost.rows.held_out_rows import QuantileBalance
from dpboost.rows.label_statistics import LabelTotals
from dpboost.training.private_bins import FineCounts

ROOT = Path(__file__).parents[3]
PROOFS = ROOT / "proofs"
PAGE = ROOT / "docs" / "proofs" / "machine-checked.md"
TABLE = json.loads((PROOFS / "tables" / "constants.json").read_text())
SAMPLES = json.loads((PROOFS / "tables" / "samplers.json").read_text())
ASSUMED = dict(
    line.split(": ") for line in (PROOFS / "tables" / "assumptions.txt").read_text().splitlines()
)
PROVED = {(row["constant"], row["relation"], json.dumps(row["arguments"])): row for row in TABLE}


def proved(constant: str, relation: Neighbors, *arguments: object) -> dict[str, int]:
    """Return what the extracted program printed."""
    return PROVED[constant, relation.value, json.dumps(list(arguments))]


def charged(bounds: object) -> dict[str, int]:
    """Return what the package charges, in the words of the table."""
    found: dict[str, int] = {}
    for bound in bounds if isinstance(bounds, tuple) else (bounds,):
        found[bound.kind] = bound.constant
        found["entries"] = bound.coordinates
    return found


def contribution(l1: int, squares: int, entries: int, difference: int | None) -> ContributionBound:
    return ContributionBound(l1=l1, squares=squares, entries=entries, difference=difference)


def by_function(row: dict[str, object]) -> dict[str, int]:
    """Call the package's function for a line of the table."""
    arguments = row["arguments"]
    if row["constant"] == "root_up":
        return {"l2": exact_arithmetic.root_up(Fraction(arguments[0]))}
    relation = Neighbors(row["relation"])
    match row["constant"]:
        case "counts":
            return charged(constants.counts(relation, *arguments))
        case "weighted":
            # The first node has the largest product, the second one the most histograms.
            most, number = arguments
            numbers, units = np.array([1, number]), np.array([most, 1])
            return charged(class_queries.weighted_histograms(numbers, units, relation))
        case "newton":
            pair = [contribution(*one) for one in arguments]
            return charged(constants.newton_sums.__wrapped__(*pair, relation))
        case "scaled":
            factor, one = arguments
            reach = contribution(*one).scaled(factor)
            return charged(constants.newton_sums.__wrapped__(reach, reach, relation))
        case "level":
            return charged(histograms.level_sums(*arguments, relation))
        case "errors":
            units, parts = arguments
            query = evaluation_queries.ErrorSums(
                largest=1.0,
                label_bounds=(0.0, 1.0),
                quantile=0.5 if parts in (4, 6) else None,
                labels=parts >= 5,
                n_groups=1,
                units=units,
            )
            return charged(query.bounds(relation))
        case "balance":
            return charged(quantiles.quantile_balance(*arguments, relation))
        case "loss_change":
            return charged(loss_change.LossChange(bound=1.0, units=arguments[0]).bounds(relation))
    raise AssertionError(row["constant"])


def differences() -> list[str]:
    """Return where the package charges another number than the one that is proved."""
    found = []
    for row in TABLE:
        ours = by_function(row)
        for norm in ("l1", "l2", "entries"):
            if norm in row and row[norm] != ours[norm]:
                found.append(f"{row} but {norm} {ours[norm]}")
    return found


def test_the_package_charges_the_proved_constants():
    assert len(TABLE) > 2000
    assert {row["constant"] for row in TABLE} >= {"counts", "newton", "weighted", "errors"}
    assert differences() == []


@pytest.mark.parametrize(
    ("plant", "found_in"),
    [
        (lambda patch: patch.setattr(Neighbors, "rows", property(lambda self: 1)), "replace"),
        (lambda patch: patch.setattr(constants, "root_up", lambda s: int(float(s) ** 0.5)), "l2"),
        (
            lambda patch: patch.setattr(
                constants,
                "Sensitivity",
                lambda kind, constant, *rest: SimpleNamespace(
                    kind=kind, constant=constant + (constant > 100_000), coordinates=rest[-1]
                ),
            ),
            "counts",
        ),
        (
            lambda patch: patch.setattr(quantiles, "max", lambda a, b: a, raising=False),
            "balance",
        ),
        (
            lambda patch: patch.setattr(
                evaluation_queries.ErrorSums,
                "names",
                property(lambda self: ("rows", "absolute", "square")),
            ),
            "errors",
        ),
    ],
    ids=["replace-as-add", "root-rounded-down", "one-unit-more", "smaller-side", "fewer-parts"],
)
def test_a_wrong_constant_is_found(plant, found_in, monkeypatch):
    plant(monkeypatch)
    found = differences()
    assert found, "the planted constant was not found"
    assert any(found_in in line for line in found)


# -- each query has the constant of its theorem ---------------------------------------------------

NODES = np.array([3, 5], dtype=np.int32)
CELLS = np.array([0, 2, 5, 9], dtype=np.int32)
SCALE = SumScale(
    gradient_limit=16 / 65536,
    gradient_reach=ContributionBound.single(16),
    hessian_reach=ContributionBound.single(16),
    hessian_unit=1.0,
    hessian_share=0.5,
    norm="l1",
)
ROW = raw_rows.ROW_UNITS
GRADIENTS = 16 * GRADIENT_UNIT
PAIR = ("newton", [16, 256, 1, None], [16, 256, 1, None])
SHARED = ("scaled", GRADIENT_FACTOR, [16, 256, 1, None])
QUERIES = {
    "Magnitudes": (Magnitudes(columns=0, units=5), ("counts", 5, 1)),
    "RangeCounts": (RangeCounts(low=0.0, high=1.0, units=5), ("counts", 5, 1)),
    "NodeSizes": (class_queries.NodeSizes(nodes=NODES, row_units=5), ("counts", 5, 1)),
    "ClassCounts": (
        class_queries.ClassCounts(nodes=NODES, n_classes=3, row_units=5),
        ("counts", 5, 1),
    ),
    "ClassHistograms": (
        class_queries.ClassHistograms(nodes=NODES, cell_offsets=CELLS, n_classes=3, row_units=5),
        ("counts", 5, 3),
    ),
    "FeatureCells": (
        class_queries.FeatureCells(
            nodes=NODES,
            features=np.array([[0, 1], [1, 2]], dtype=np.int32),
            cell_offsets=CELLS,
            n_classes=3,
        ),
        ("counts", 1, 2),
    ),
    "GroupedCells": (
        class_queries.GroupedCells(
            nodes=NODES[:1],
            groups=np.zeros((1, 9), dtype=np.int32),
            cell_offsets=CELLS,
            n_groups=2,
            n_classes=3,
            unit_value=np.array([1]),
        ),
        ("weighted", 3, 3),
    ),
    "ScoreCells": (
        evaluation_queries.ScoreCells(ranges=((0, 1),) * 4, n_cells=8, units=5),
        ("counts", 5, 4),
    ),
    "ScoreLabelCounts": (
        evaluation_queries.ScoreLabelCounts(edges=((0.0,),) * 3, n_groups=2, n_classes=3, units=5),
        ("counts", 5, 4),
    ),
    "ErrorCells": (evaluation_queries.ErrorCells(width=1.0, units=5), ("counts", 5, 1)),
    "BinCounts": (evaluation_queries.BinCounts(sizes=(2, 3, 4), units=5), ("counts", 5, 3)),
    "RowCount": (raw_rows.RowCount(), ("counts", ROW, 1)),
    "PresentRows": (raw_rows.PresentRows(), ("counts", 1, 1)),
    "ClassSizes": (raw_rows.ClassSizes(n_classes=3), ("counts", ROW, 1)),
    "FineCounts": (
        FineCounts(fine=dict.fromkeys(range(6)), zero_as_missing=False, units=5),
        ("counts", 5, 6),
    ),
    "SumScale": (SCALE, SHARED),
    "LeafSums": (LeafSums(partition=None, scale=SCALE, n_outputs=1), SHARED),
    "LabelTotals": (LabelTotals(nodes=NODES, scale=SCALE), SHARED),
    "LeafTotals": (LeafTotals(n_nodes=2, gradient_bound=GRADIENTS), PAIR),
    "LevelSums": (
        LevelSums(n_nodes=2, layout=SimpleNamespace(cell_offsets=CELLS), gradient_bound=GRADIENTS),
        ("level", 3, 16),
    ),
    "ErrorSums": (
        evaluation_queries.ErrorSums(
            largest=1.0,
            label_bounds=(0.0, 1.0),
            quantile=0.5,
            labels=True,
            n_groups=2,
            units=5,
        ),
        ("errors", 5, 6),
    ),
    "LossChange": (loss_change.LossChange(bound=2.0, units=5), ("loss_change", 5)),
}
# One whose units are its own: 2^18 a row, of which an eighth is taken away.
OF_ITS_OWN = {"MeanAndRows", "QuantileBalance"}
LEFT_OUT = {"SplitScores", "ImpurityBounds", "SecondMoments", "GradientMoments"}


@pytest.mark.parametrize("relation", list(Neighbors))
@pytest.mark.parametrize("name", QUERIES)
def test_a_query_charges_the_constant_of_its_theorem(name, relation):
    query, (constant, *arguments) = QUERIES[name]
    assert type(query).__name__ == name
    row, ours = proved(constant, relation, *arguments), charged(query.bounds(relation))
    assert {norm: row[norm] for norm in ("l1", "l2") if norm in row} == {
        norm: ours[norm] for norm in ("l1", "l2") if norm in row
    }
    if "entries" in row:
        assert ours["entries"] == row["entries"]


@pytest.mark.parametrize("relation", list(Neighbors))
def test_queries_with_units_of_their_own_charge_those_of_their_functions(relation):
    reach = ContributionBound.single(ROW)
    mean = raw_rows.MeanAndRows(loss=None)
    assert mean.bounds(relation) == constants.newton_sums(reach, reach, relation)
    balance = QuantileBalance(threshold=0.0, level=0.125)
    below, above = ROW - ROW // 8, ROW // 8
    assert balance.bounds(relation) == quantiles.quantile_balance(below, above, relation)


def classes_with_bounds() -> set[str]:
    """Return the classes of the package whose bounds are of a query's own."""
    found = set()
    for path in (ROOT / "dpboost").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                for part in node.body:
                    if isinstance(part, ast.FunctionDef) and part.name == "bounds":
                        found.add(node.name)
    return found - {"Query"}  # the protocol


def test_every_query_has_its_theorem_or_is_named_as_left_out():
    assert classes_with_bounds() == set(QUERIES) | OF_ITS_OWN | LEFT_OUT
    theorems = {name.partition(".")[2] for name in ASSUMED}
    for name in set(QUERIES) | OF_ITS_OWN:
        assert f"{name}_bounded" in theorems, name
        assert any(theorem.startswith(f"{name}_reached") for theorem in theorems), name
    text = PAGE.read_text()
    for name in LEFT_OUT:
        assert f"`{name}`" in text


# -- samplers -------------------------------------------------------------------------------------


def words(seed: int):
    """Yield the words of splitmix64, as the extracted program deals them."""
    mask = 2**64 - 1
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) & mask
        word = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
        word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & mask
        yield word ^ (word >> 31)


def source(seed: int) -> SystemEntropy:
    """Return a source of these words for the kernels."""
    dealt = words(seed)

    def read(n_bytes: int) -> bytes:
        block = np.fromiter((next(dealt) for _ in range(n_bytes // 8)), np.uint64)
        return block.astype("<u8").tobytes()

    return SystemEntropy(read=read)


def kernel_draws(sampler: str, arguments: list[int], n: int) -> list[int]:
    """Draw by the kernel what the extracted program has drawn from the same words."""
    bits = source(sum(arguments))
    if sampler == "bernoulli_exp":
        coins = np.empty(n, dtype=np.uint8)
        noise.bernoulli_exp(bits, *arguments, coins)
        return coins.tolist()
    out = np.zeros(n, dtype=np.int64)
    # A kernel with values opens its pool of bits anew in each call: one call for all draws.
    values = () if sampler == "geometric" else (np.zeros(n, dtype=np.int64),)
    getattr(noise, sampler)(bits, *values, *arguments, out)
    return out.tolist()


@pytest.mark.parametrize(
    "case", SAMPLES, ids=lambda case: f"{case['sampler']}-{'-'.join(map(str, case['arguments']))}"
)
def test_kernels_draw_what_the_proved_samplers_draw_from_the_same_bits(case):
    drawn = kernel_draws(case["sampler"], case["arguments"], len(case["draws"]))
    assert drawn == case["draws"]


def test_a_sampler_of_another_scale_is_found():
    case = next(
        c for c in SAMPLES if c["sampler"] == "discrete_gaussian" and c["arguments"] == [64]
    )
    bits, n = source(64), len(case["draws"])
    out = np.zeros(n, dtype=np.int64)
    noise.discrete_gaussian(bits, np.zeros(n, dtype=np.int64), 63, out)
    assert out.tolist() != case["draws"]


# -- the page, and the check of assumptions -------------------------------------------------------


def check_assumptions():
    spec = importlib.util.spec_from_file_location(
        "check_assumptions", PROOFS / "check_assumptions.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_names_theorems_that_are_there_and_all_files():
    text = PAGE.read_text()
    named = set(re.findall(r"`([A-Z]\w+)\.v`: ((?:`\w+`(?:, )?)+)", text))
    assert len(named) > 15
    for file, theorems in named:
        for theorem in re.findall(r"`(\w+)`", theorems):
            assert f"{file}.{theorem}" in ASSUMED, f"{file}.{theorem}"
    listed = set(re.findall(r"^(\w+)\.v$", (PROOFS / "_CoqProject").read_text(), re.MULTILINE))
    assert {path.stem for path in PROOFS.glob("*.v")} == listed | {"Extract"}


def test_stored_assumptions_are_allowed_and_those_of_all_theorems():
    check = check_assumptions()
    names = set()
    for path in PROOFS.glob("*.v"):
        text = check.without_comments(path.read_text())
        assert check.gaps(text) == []
        if path.stem != "Extract":
            names |= {f"{path.stem}.{name}" for name in check.statements(text)}
    assert names == set(ASSUMED)
    used = {axiom for line in ASSUMED.values() if line != "no axiom" for axiom in line.split(", ")}
    assert used <= check.ALLOWED


@pytest.mark.parametrize("gap", ["Admitted.", "Axiom a : False.", "Proof. admit. Qed."])
def test_a_gap_is_found(gap):
    check = check_assumptions()
    assert check.gaps(check.without_comments(f"Theorem t : True.\n{gap} (* a comment *)"))
    assert not check.gaps(check.without_comments(f"(* {gap} (* inside *) *) Theorem t : True."))


def test_an_axiom_is_found_in_what_coq_prints():
    check = check_assumptions()
    printed = (
        "THEOREM A.one\nClosed under the global context\nTHEOREM A.two\nAxioms:\n"
        "Classical_Prop.classic : forall P : Prop, P \\/ ~ P\n"
    )
    assert check.read(printed) == {"A.one": set(), "A.two": {"Classical_Prop.classic"}}
    assert "Classical_Prop.classic" not in check.ALLOWED
