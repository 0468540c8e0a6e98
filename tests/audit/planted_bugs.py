"""Planted bugs that were written before anybody looked whether the audit sees them.

Each has the audit of the whole library to go through, not a witness of its own.
"""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpboost.privacy import queries
from dpboost.privacy.ledger_records import NO_CHARGE
from dpboost.privacy.queries import RowHandle, store_of
from dpboost.privacy.randomness import RowCoins
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.rows import raw_rows
from dpboost.training.label_range import SeenRange
from tests.audit.kernel_bugs import Wrapped
from tests.audit.positions import found, planted

Patches = list[tuple[Any, str, Any]]


@dataclass(frozen=True, kw_only=True)
class PlantedBug:
    """A bug and where it is.

    Parameters
    ----------
    name : str
    kind : str
        What goes wrong, in two words.
    patches : callable
        Returns what to replace.
    """

    name: str
    kind: str
    patches: Callable[[], Patches]


BUGS: list[PlantedBug] = []


def bug(name: str, kind: str) -> Callable[[Callable[[], Patches]], Callable[[], Patches]]:
    """Enter a function that returns patches into the list."""

    def enter(patches: Callable[[], Patches]) -> Callable[[], Patches]:
        BUGS.append(PlantedBug(name=name, kind=kind, patches=patches))
        return patches

    return enter


def private(source: Any) -> Any:
    """Return the state of the rows behind a handle, where no mechanism may look."""
    return store_of(source)._rows if isinstance(source, RowHandle) else source


def remembering(seen: dict[str, Any]) -> tuple[Any, str, Any]:
    """Keep the private rows of a fit by several trees, as no code may."""
    original = found("encoding of labels")[2]

    def encode_labels(self, **given):
        encoded = original(self, **given)
        seen.update(rows=self, encoded=encoded)
        return encoded

    return planted("encoding of labels", encode_labels)


# -- accounting ---------------------------------------------------------------------------------


@bug("twice the capacity of Gaussian privacy", "conversion")
def _():
    original = found("capacity of Gaussian privacy")[2]
    return [planted("capacity of Gaussian privacy", lambda *a: 2 * original(*a))]


@bug("half more than the capacity of concentrated privacy", "conversion")
def _():
    original = found("capacity of concentrated privacy")[2]
    return [planted("capacity of concentrated privacy", lambda *a: original(*a) * Fraction(3, 2))]


@bug("pure releases charged at two thirds", "charge")
def _():
    original = found("charge of pure noise")[2]
    return [planted("charge of pure noise", lambda *a: original(*a) * Fraction(2, 3))]


@bug("parallel scopes that never grow with their children", "charge")
def _():
    original = found("growth of a parallel scope")[2]

    def growth(old, child):
        return original(old, child) if old is NO_CHARGE else NO_CHARGE

    return [planted("growth of a parallel scope", growth)]


@bug("a ledger opened with 1.3 epsilon", "claim")
def _():
    original = found("opening of the ledger")[2]

    def ledger(self, accountant):
        return original(replace(self, epsilon=self.epsilon * Fraction(13, 10)), accountant)

    return [planted("opening of the ledger", ledger)]


@bug("a ledger opened with ten times delta", "claim")
def _():
    original = found("opening of the ledger")[2]

    def ledger(self, accountant):
        return original(replace(self, delta=self.delta * 10), accountant)

    return [planted("opening of the ledger", ledger)]


@bug("the relation of the ledger is always add/remove", "claim")
def _():
    original = found("opening of the ledger")[2]

    def ledger(self, accountant):
        return original(replace(self, neighbors=Neighbors.ADD_REMOVE), accountant)

    return [planted("opening of the ledger", ledger)]


@bug("delta of learned categories not booked", "charge")
def _():
    original = found("release")[2]

    def release(self, mechanism, value, *, label, delta=Fraction(0)):
        return original(self, mechanism, value, label=label)

    return [planted("release", release)]


@bug("preparation not taken out of the budget, and nobody checks", "charge")
def _():
    original = found("completed schema")[2]

    def complete(*arguments, ledger, **options):
        completed = original(*arguments, ledger=ledger, **options)
        return replace(completed, budget=ledger.capacity)

    return [
        planted("completed schema", complete),
        planted("check of the budget", lambda self, entry, total, most=None: None),
    ]


@bug("a report of half the epsilon that was spent", "claim")
def _():
    original = found("epsilon spent")[2]
    return [planted("epsilon spent", property(lambda self: original.fget(self) / 2))]


@bug("noise from a seed called private", "claim")
def _():
    return [planted("reasons against privacy", property(lambda self: ()))]


@bug("an earlier model's epsilon left out of the report", "claim")
def _():
    original = found("report of a ledger")[2].__func__

    def from_ledger(cls, ledger, *, earlier=None, continues=False, **options):
        return original(cls, ledger, **options)

    return [planted("report of a ledger", classmethod(from_ledger))]


# -- users --------------------------------------------------------------------------------------


@bug("a user who counts as one row", "users")
def _():
    return [planted("accounting for groups", lambda inner, rows: inner)]


@bug("a user of k rows who costs k times instead of k squared", "users")
def _():
    original = found("accounting for groups")[2]

    def group(inner, rows):
        accountant = original(inner, rows)
        return replace(accountant, factor=Fraction(rows)) if rows > 1 else accountant

    return [planted("accounting for groups", group)]


@bug("one row too many of every user", "users")
def _():
    original = found("sample of users")[2]
    return [planted("sample of users", lambda users, most, coins: original(users, most + 1, coins))]


@bug("users sampled by a cap on everybody together", "users")
def _():
    original = found("sample of users")[2]

    def sample(users, most, coins):
        # As many of each as the smallest user has: everybody else tells how many that is.
        least = int(np.unique(users, return_counts=True)[1].min())
        return original(users, min(most, least), coins)

    return [planted("sample of users", sample)]


# -- samplers -----------------------------------------------------------------------------------


def noise_kernel(**functions):
    kernel = found("noise kernel")[2]
    return [planted("noise kernel", Wrapped(kernel, **functions))]


@bug("a kernel that adds no noise to zeros", "sampler")
def _():
    kernel = found("noise kernel")[2]

    def laplace(bits, value, numerator, denominator, out):
        kernel.discrete_laplace(bits, value, numerator, denominator, out)
        out[value == 0] = 0

    def gaussian(bits, value, sigma, out):
        kernel.discrete_gaussian(bits, value, sigma, out)
        out[value == 0] = 0

    return noise_kernel(discrete_laplace=laplace, discrete_gaussian=gaussian)


@bug("a Gaussian kernel with nine tenths of its scale", "sampler")
def _():
    kernel = found("noise kernel")[2]

    def gaussian(bits, value, sigma, out):
        kernel.discrete_gaussian(bits, value, max(1, sigma * 9 // 10), out)

    return noise_kernel(discrete_gaussian=gaussian)


@bug("a Laplace kernel with half its scale", "sampler")
def _():
    kernel = found("noise kernel")[2]

    def laplace(bits, value, numerator, denominator, out):
        kernel.discrete_laplace(bits, value, numerator, max(1, denominator // 2), out)

    return noise_kernel(discrete_laplace=laplace)


@bug("a selection kernel with a rate half too high", "sampler")
def _():
    kernel = found("selection kernel of runs")[2]

    def exponential(bits, scores, starts, node_start, n, numerator, denominator, chosen):
        rate = (3 * numerator, 2 * denominator)
        kernel.exponential(bits, scores, starts, node_start, n, *rate, chosen)

    return [planted("selection kernel of runs", Wrapped(kernel, exponential=exponential))]


@bug("permute-and-flip that visits candidates in their order", "sampler")
def _():
    kernel = found("selection kernel")[2]

    def flip(bits, scores, numerator, denominator, chosen):
        random = np.random.Generator(bits)
        rate = numerator / denominator
        for node, row in enumerate(scores):
            heads = random.random(len(row)) < np.exp(-(row.max() - row) * rate)
            chosen[node] = int(np.argmax(heads))

    return [planted("selection kernel", Wrapped(kernel, permute_and_flip=flip))]


@bug("noise from a hash of the values", "sampler")
def _():
    kernel = found("noise kernel")[2]

    def gaussian(bits, value, sigma, out):
        seeded = np.random.PCG64(list(value.tobytes()[:64]))
        kernel.discrete_gaussian(seeded, value, sigma, out)

    return noise_kernel(discrete_gaussian=gaussian)


@bug("noise of one sign", "sampler")
def _():
    kernel = found("noise kernel")[2]

    def gaussian(bits, value, sigma, out):
        kernel.discrete_gaussian(bits, value, sigma, out)
        out[:] = value + np.abs(out - value)

    return noise_kernel(discrete_gaussian=gaussian)


@bug("noise that ends at four deviations", "sampler")
def _():
    kernel = found("noise kernel")[2]

    def gaussian(bits, value, sigma, out):
        kernel.discrete_gaussian(bits, value, sigma, out)
        out[:] = np.clip(out, value - 4 * sigma, value + 4 * sigma)

    return noise_kernel(discrete_gaussian=gaussian)


@bug("one draw for all entries of a release", "sampler")
def _():
    kernel = found("noise kernel")[2]

    def gaussian(bits, value, sigma, out):
        kernel.discrete_gaussian(bits, value, sigma, out)
        if len(out):
            out[:] = value + (out[0] - value[0])

    return noise_kernel(discrete_gaussian=gaussian)


@bug("coins of rows under a known key", "coins")
def _():
    return [planted("coins of an entropy", lambda self: RowCoins(bytes(32)))]


# -- rows ---------------------------------------------------------------------------------------


@bug("a tree that takes the rows of the next one as well", "rows")
def _():
    original = found("rows of a round")[2]

    def take(self, index):
        original(self, index)
        if self._starts is not None and index + 2 < len(self._starts):
            self._round = self._order[self._starts[index] : self._starts[index + 2]]
            self._round_leaves = np.empty(len(self._round), dtype=np.uint16)

    return [planted("rows of a round", take)]


@bug("scores moved by the exact sums of leaves", "rows")
def _():
    sums, add = found("leaf sums")[2], found("values of leaves")[2]
    seen = {}

    def leaf_sums(self, partition, scale, neighbors):
        result = sums(self, partition, scale, neighbors)
        seen["exact"] = queries._reveal(result)[0]
        return result

    def moved(self, values):
        add(self, values - seen["exact"])

    return [planted("leaf sums", leaf_sums), planted("values of leaves", moved)]


@bug("weights divided by their mean", "rows")
def _():
    original = found("weights of rows")[2]

    def units(self, weighting, classes, targets):
        if self.sample_weight is None:
            return original(self, weighting, classes, targets)
        mean = max(float(self.sample_weight.mean()), 1e-9)
        scaled = replace(self, sample_weight=self.sample_weight / mean)
        return original(scaled, weighting, classes, targets)

    return [planted("weights of rows", units)]


@bug("weights clipped at the largest one of the rows", "rows")
def _():
    original = found("weights of rows")[2]

    def units(self, weighting, classes, targets):
        if self.sample_weight is not None and len(self.sample_weight):
            most = max(float(self.sample_weight.max()), 1e-9)
            weighting = replace(weighting, max_weight=most)
        return original(self, weighting, classes, targets)

    return [planted("weights of rows", units)]


@bug("balanced weights from exact class sizes", "rows")
def _():
    original = found("released class sizes")[2]

    def sizes(sums, **options):
        seen = original(sums, **options)
        exact = queries._reveal(sums)[:-1] / raw_rows.ROW_UNITS
        return replace(seen, sizes=tuple(exact.tolist()))

    return [planted("released class sizes", sizes)]


@bug("initial scores centered by their mean", "rows")
def _():
    original = found("initial scores of rows")[2]

    def scores(self, n_outputs):
        given = original(self, n_outputs)
        return None if given is None else given - given.mean(axis=1, keepdims=True)

    return [planted("initial scores of rows", scores)]


@bug("labels centered by their mean", "rows")
def _():
    original = found("squared labels")[2]

    def encode(self, labels):
        units = original(self, labels)
        return units - (int(np.mean(units)) if len(units) else 0)

    return [planted("squared labels", encode)]


@bug("missing cells get the mean of their column", "rows")
def _():
    original = found("reading of rows")[2]

    def read(X, *rest):
        if isinstance(X, np.ndarray) and X.dtype == np.float64 and X.size:
            finite = np.where(np.isfinite(X), X, np.nan)
            counts = np.maximum(np.isfinite(finite).sum(axis=0), 1)
            X = np.where(np.isnan(X), np.nansum(finite, axis=0) / counts, X)
        return original(X, *rest)

    return [planted("reading of rows", read)]


@bug("rows far from the mean label dropped", "rows")
def _():
    original = found("encoding of labels")[2]

    def encode_labels(self, loss, classes):
        encoded = original(self, loss, classes)
        targets = encoded.targets.astype(float)
        if classes or not len(targets):
            return encoded
        far = np.abs(targets - targets.mean()) > 2 * targets.std() + 1
        return replace(encoded, present=encoded.present & ~far)

    return [planted("encoding of labels", encode_labels)]


@bug("classes in the order of their exact sizes", "rows")
def _():
    encode = found("encoding of labels")[2]

    def encode_labels(self, loss, classes):
        labels = list(np.asarray(self.labels).tolist())
        return encode(self, loss, tuple(sorted(classes, key=labels.count)))

    return [planted("encoding of labels", encode_labels)]


# -- decisions ----------------------------------------------------------------------------------


@bug("features in the order of their exact variance", "decision")
def _():
    seen: dict[str, Any] = {}

    def refill(self):
        table = seen["encoded"].table
        spread = [np.nanvar(np.clip(table.column(f), -9, 9)) for f in range(len(self._gains))]
        return np.argsort(spread, kind="stable").tolist()

    return [remembering(seen), planted("first order of features", refill)]


@bug("steps shrunk by exact hessians", "decision")
def _():
    sums, steps = found("leaf sums")[2], found("steps of leaves")[2]
    seen = {}

    def leaf_sums(self, partition, scale, neighbors):
        result = sums(self, partition, scale, neighbors)
        seen["hessians"] = queries._reveal(result)[1] * scale.hessian_unit_value
        return result

    def mutated(self, gradients, hessians, noise_stddev):
        return steps(self, gradients, seen["hessians"], noise_stddev)

    return [planted("leaf sums", leaf_sums), planted("steps of leaves", mutated)]


@bug("features preferred by exact gains", "decision")
def _():
    sums, gains = found("leaf sums")[2], found("gains of features")[2]
    seen = {}

    def leaf_sums(self, partition, scale, neighbors):
        result = sums(self, partition, scale, neighbors)
        exact = queries._reveal(result)
        seen["sums"] = exact[0] * scale.gradient_unit_value, exact[1] * scale.hessian_unit_value
        return result

    def mutated(partition, gradients, hessians, noise_stddev, leaf):
        return gains(partition, *seen["sums"], noise_stddev, leaf)

    return [planted("leaf sums", leaf_sums), planted("gains of features", mutated)]


@bug("training that ends when too few rows are left", "decision")
def _():
    original = found("the boosting loop")[2]

    class Watch:
        def __init__(self, rows):
            self.rows = rows

        def before(self, index):
            return None

        def after(self, trees):
            return len(private(self.rows.source).labels) % 2 == 0

    def boost(self, rows, *, callback=None, **options):
        return original(self, rows, callback=Watch(rows), **options)

    return [planted("the boosting loop", boost)]


@bug("depth of a single tree by its exact rows", "decision")
def _():
    original = found("rows of a tree's rule")[2]

    def n_rows(source, **options):
        seen = original(source, **options)
        exact = int(private(source).present.sum())
        return replace(seen, n_rows=100.0 if exact % 2 else 1e6)

    return [planted("rows of a tree's rule", n_rows)]


@bug("leaves of a tree by exact counts where they are few", "decision")
def _():
    init, of = found("statistics of a tree")[2], found("probabilities of a tree")[2]
    seen: dict[str, Any] = {}

    def remember(self, *arguments, **options):
        init(self, *arguments, **options)
        seen["rows"] = self

    def probabilities(self, tree):
        counts = queries._reveal(seen["rows"].class_counts(tree.growing.leaves))
        few = counts.sum(axis=1, keepdims=True) < 5
        return of(self, replace(tree, counts=np.where(few, counts, tree.counts)))

    return [
        planted("statistics of a tree", remember),
        planted("probabilities of a tree", probabilities),
    ]


# -- what is learned ----------------------------------------------------------------------------


@bug("the range of labels from their extremes", "learned")
def _():
    original = found("release of a label range")[2]

    def release(ledger, source, low, high, **options):
        original(ledger, source, low, high, **options)
        labels = np.clip(private(source).labels, low, high)
        return SeenRange(float(labels.min()), float(labels.max()) + 1e-3)

    return [planted("release of a label range", release)]


@bug("the range of labels of add/remove under replace", "learned")
def _():
    original = found("bounds of counts in a range")[2]
    return [
        planted(
            "bounds of counts in a range",
            lambda self, neighbors: original(self, Neighbors.ADD_REMOVE),
        )
    ]


@bug("looks into the range of labels side by side", "learned")
def _():
    original = found("release of a label range")[2]

    def release(ledger, source, low, high, **asked):
        counted = iter(range(9))
        inner = ledger.release

        def beside(*arguments, **options):
            with ledger.parallel("looks"), ledger.sequential(f"look {next(counted)}"):
                return inner(*arguments, **options)

        ledger.release = beside
        try:
            return original(ledger, source, low, high, **asked)
        finally:
            del ledger.release

    return [planted("release of a label range", release)]


@bug("the range of labels from exact cells", "learned")
def _():
    original = found("noisy counts in a range")[2].__func__

    def release(cls, ledger, source, query, *arguments):
        counts = original(cls, ledger, source, query, *arguments)
        exact = query.evaluate(private(source)) * query.unit
        return replace(counts, released=exact.astype(np.float64))

    return [planted("noisy counts in a range", classmethod(release))]


@bug("categories that pass by their exact counts", "learned")
def _():
    original = found("stability histogram")[2]

    def release(ledger, source, query, **options):
        original(ledger, source, query, **options)
        return {
            name: [key[-1] for key in sorted(table) if table[key] >= 2]
            for name, table in zip(query.columns, store_of(source).tally(query), strict=True)
        }

    return [planted("stability histogram", release)]


@bug("categories in the order of their exact counts", "learned")
def _():
    original = found("stability histogram")[2]

    def release(ledger, source, query, **options):
        passed = original(ledger, source, query, **options)
        times = {
            name: {key[-1]: table[key] for key in sorted(table)}
            for name, table in zip(query.columns, store_of(source).tally(query), strict=True)
        }
        return {
            name: sorted(values, key=lambda value: times[name][value])  # noqa: B023
            for name, values in passed.items()
        }

    return [planted("stability histogram", release)]


# -- what leaves the process --------------------------------------------------------------------


@bug("a pickle that holds the number of rows", "surface")
def _():
    original = found("training of an estimator")[2]

    def train(self, rows, request):
        self._n_rows_seen = len(rows.y)
        return original(self, rows, request)

    return [planted("training of an estimator", train)]


@bug("a log line about rows that were dropped", "surface")
def _():
    original = found("rows in the root")[2]

    def enter(self, *arguments, **options):
        original(self, *arguments, **options)
        logging.getLogger("dpboost.rows").info("%d rows in the root", len(self._round))

    return [planted("rows in the root", enter)]


@bug("a warning only when a weight was clipped", "surface")
def _():
    original = found("weights of rows")[2]

    def units(self, weighting, classes, targets):
        if self.sample_weight is not None and (self.sample_weight > weighting.max_weight).any():
            warnings.warn("weights were clipped", stacklevel=2)
        return original(self, weighting, classes, targets)

    return [planted("weights of rows", units)]


@bug("exact rows among the facts of a tree's report", "surface")
def _():
    init, facts = found("statistics of a tree")[2], found("facts of a tree")[2]
    seen: dict[str, Any] = {}

    def remember(self, *arguments, **options):
        init(self, *arguments, **options)
        seen["rows"] = self

    def told(*arguments, **options):
        sizes = queries._reveal(seen["rows"].sizes(np.zeros(1, dtype=np.int32)))
        return {**facts(*arguments, **options), "rows at the root": int(sizes[0])}

    return [planted("statistics of a tree", remember), planted("facts of a tree", told)]


@bug("a cache of the bins in the temporary folder", "surface")
def _():
    original = found("binning of rows")[2]

    def binned(self, **given):
        state = original(self, **given)
        with tempfile.NamedTemporaryFile(suffix=".bins", delete=False) as file:
            file.write(np.ascontiguousarray(self.targets).tobytes())
        return state

    return [planted("binning of rows", binned)]


@bug("NumPy's global generator drawn once a row", "surface")
def _():
    original = found("binning of rows")[2]

    def binned(self, **given):
        np.random.random(len(self.targets))  # noqa: NPY002
        return original(self, **given)

    return [planted("binning of rows", binned)]


@bug("an error that quotes a label", "surface")
def _():
    original = found("training of an estimator")[2]

    def train(self, rows, request):
        labels = np.asarray(rows.y)
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            position = int(np.flatnonzero(~np.isfinite(labels))[0])
            raise ValueError(f"Row {position} has label {labels[position]}.")
        return original(self, rows, request)

    return [planted("training of an estimator", train)]


# -- other ways to fit --------------------------------------------------------------------------


@bug("folds of cross-validation dealt by place", "cross-validation")
def _():
    original = found("coins of cross-validation")[2]

    def results(self, *arguments, **options):
        def blocks(self, probabilities, n_rows, first_row=0, *, n_threads=1):
            return (np.arange(n_rows) % len(probabilities)).astype(np.int32)

        kept, RowCoins.blocks = RowCoins.blocks, blocks
        try:
            return original(self, *arguments, **options)
        finally:
            RowCoins.blocks = kept

    return [planted("coins of cross-validation", results)]


@bug("metrics of cross-validation without noise", "cross-validation")
def _():
    original = found("metrics of cross-validation")[2]

    def release(self, models, rows, fold, ledger, n_releases):
        draw = type(ledger)._draw
        type(ledger)._draw = lambda self, entry, value: value.copy()
        try:
            return original(self, models, rows, fold, ledger, n_releases)
        finally:
            type(ledger)._draw = draw

    return [planted("metrics of cross-validation", release)]


@bug("shares of noise too small by the colluding parties", "parties")
def _():
    original = found("share of noise")[2]

    def share(base, value, bound, honest, entropy):
        return original(base, value, bound, honest + 1, entropy)

    return [planted("share of noise", share)]


@bug("reports of a device at about twice epsilon", "local")
def _():
    original = found("odds of a response")[2]
    return [planted("odds of a response", lambda odds: original(odds**2))]
