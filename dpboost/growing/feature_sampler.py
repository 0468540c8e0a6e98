"""Choice of the features of random partitions: all in turn first, then useful ones and sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

# What an earlier tree has shown counts this much less with every later one.
MEMORY = 0.99
# Where columns were chosen before the first tree, the others have this part of the draws together,
# and more once one of them has shown a gain beyond so many deviations of the noise.
PART_OF_OTHERS, DOUBT_OF_OTHERS = 0.08, 2.0
# A tree that splits chosen columns with at most one other shows no two others that tell something
# only together. So many of the trees therefore draw from all columns alike, as long as the pairs of
# columns are few enough for such trees to meet most of them; with more columns it is not worth it.
EXPLORING, FEW_COLUMNS = 0.2, 40


@dataclass(frozen=True, kw_only=True)
class Preference:
    """The preference for useful features."""

    #: Standard deviations by which a feature's gain has to exceed the noise.
    doubt: float
    #: A feature's chance grows with this power of its gain.
    power: float
    #: Chance of a feature that has shown nothing, as a part of the best one's.
    floor: float

    def toward(self, other: Preference, part: float) -> Preference:
        """Return the preference that is so far on the way to another."""
        here, there = astuple(self), astuple(other)
        between = (own + part * (its - own) for own, its in zip(here, there, strict=True))
        doubt, power, floor = between
        return Preference(doubt=doubt, power=power, floor=floor)


@dataclass(frozen=True, kw_only=True, eq=False)
class AllowedFeatures:
    """Public draws of the features that a tree may split on.

    Proof: docs/proofs/constraints.md.

    Privacy
    -------
    Looks at nothing but public randomness: whatever a tree then chooses privately among the drawn
    features costs what it costs among all, because a score keeps its sensitivity.
    """

    #: Each tree is of one of them, each as likely.
    groups: tuple[tuple[int, ...], ...]
    #: Most features of a tree, drawn at random from its group.
    most: int | None
    public: np.random.Generator
    #: Part of the features of its group that a tree may split, drawn at random.
    fraction: float = 1.0

    @classmethod
    def of(
        cls,
        groups: tuple[tuple[int, ...], ...] | None,
        most: int | None,
        n_features: int,
        public: np.random.Generator,
        fraction: float | None = None,
    ) -> AllowedFeatures | None:
        """Return what keeps to these groups and sizes, None if all features may meet."""
        if groups is None and most is None and fraction is None:
            return None
        return cls(
            groups=groups or (tuple(range(n_features)),),
            most=most,
            public=public,
            fraction=1.0 if fraction is None else fraction,
        )

    def draw(self) -> NDArray[np.int32]:
        """Return the features of the next tree, in ascending order."""
        group = np.array(self.groups[int(self.public.integers(len(self.groups)))], dtype=np.int32)
        size = part_of(len(group), self.fraction)
        if self.most is not None:
            size = min(size, self.most)
        if size < len(group):
            group = np.sort(self.public.choice(group, size, replace=False))
        return group


def part_of(n_features: int, fraction: float) -> int:
    """Return how many features a part of them is, one at least."""
    return max(1, round(fraction * n_features))


class FeatureQueue:
    """A shuffled list of features, refilled according to released gains.

    Proof: docs/proofs/constraints.md.

    The first list contains every feature once. Each later list has the same length and is drawn by
    systematic sampling in proportion to ``(gain / largest gain)**power + floor``. The gain of a
    feature is a moving average of the released gains of its splits, minus ``doubt`` standard
    deviations of the gain of pure noise.

    Parameters
    ----------
    groups : tuple of tuple of int, optional
        Features that may meet in a partition. The first feature comes from the list, then a group
        that it is in, each as likely, and the others from that group with the chances of a list.
    paired : ndarray of shape (n_features,), bool, optional
        Features whose partitions have one other at most, and come into no other.
    alone : bool, default=False
        Whether their partitions have no other at all.
    fraction : float, default=1.0
        Part of the features, drawn again each time, from which the next ones are taken.
    factors : sequence of float, optional
        How much each feature is preferred beyond what it has shown; one of 0 is never taken.
    again : float, default=0.0
        How often features come that have shown much together, instead of those of the list, once
        every feature was cut. Not where features are drawn one by one, by ``fraction`` or
        ``factors``.

    Privacy
    -------
    Reads released gains, public factors and public randomness only: post-processing.
    """

    def __init__(
        self,
        n_features: int,
        preference: Preference,
        public: np.random.Generator,
        *,
        groups: tuple[tuple[int, ...], ...] | None = None,
        paired: NDArray[np.bool_] | None = None,
        alone: bool = False,
        fraction: float = 1.0,
        factors: Sequence[float] | None = None,
        again: float = 0.0,
    ) -> None:
        self.preference = preference
        self._public = public
        self._groups = groups
        self._paired = paired
        self._alone = alone
        self._fraction = fraction
        self._factors = None if factors is None else np.array(factors, dtype=np.float64)
        self._allowed = np.arange(n_features)
        if groups is not None:
            self._allowed = np.unique(np.concatenate(groups))
        if self._factors is not None:
            self._allowed = self._allowed[self._factors[self._allowed] > 0]
        self.again = 0.0 if self._chosen_by_weight else again
        self._sets = FeatureSets(self.again, public)
        self._waiting: list[int] = []
        self._preferred: NDArray[np.bool_] | None = None
        self._exploring = 0.0
        self._gains = np.zeros(n_features)
        self._variances = np.zeros(n_features)
        self._visits = np.zeros(n_features)

    def prefer(self, chosen: Sequence[int]) -> None:
        """Have these features cut first, and the others seldom until they show a gain.

        They are released or public, allowed, and one at least.
        """
        self._preferred = np.zeros(len(self._gains), dtype=bool)
        self._preferred[list(chosen)] = True
        # Where features meet in groups, or by weight, the others come one by one.
        if self._groups is None and self._paired is None and not self._chosen_by_weight:
            self._exploring = EXPLORING * min(1.0, (FEW_COLUMNS / len(self._allowed)) ** 2)

    @property
    def has_new(self) -> bool:
        """Whether some feature has not been cut yet that is to be cut first."""
        return bool(self._visits[self.to_begin_with].min() <= 0)

    @property
    def to_begin_with(self) -> NDArray[np.integer]:
        """Features that are cut before what was shown decides."""
        if self._preferred is None:
            return self._allowed
        return self._allowed[self._preferred[self._allowed]]

    def take(self, k: int) -> NDArray[np.int32]:
        """Take the next ``k`` different features, fewer where there are not so many."""
        if k > 1 and not self.has_new:
            together = self._sets.draw()
            if together is not None:
                return together
        allowed = self._part()
        if self._groups is not None or self._paired is not None:
            return self._take_constrained(k, allowed)
        if self._chosen_by_weight:
            return self._some_of(allowed, k)
        if self._exploring and not self.has_new and self._public.random() < self._exploring:
            drawn = self._public.choice(allowed, min(k, len(allowed)), replace=False)
            return drawn.astype(np.int32)
        taken: list[int] = []
        while len(taken) < k:
            feature = self._next()
            if feature not in taken:
                taken.append(feature)
        return np.array(taken, dtype=np.int32)

    def take_new(self) -> NDArray[np.int32]:
        """Take the next feature that has not been cut yet; there must be one."""
        while True:
            taken = self.take(1)
            if self._visits[taken[0]] <= 0:
                return taken

    def learn(
        self,
        features: NDArray[np.int32],
        split_features: NDArray[np.int32],
        gains: NDArray[np.float64],
        variances: NDArray[np.float64],
    ) -> None:
        """Remember the released gains of a partition's splits.

        Gains and their variances are those of `dpboost.growing.shrunken_leaves.split_gains`, by
        split, as ``split_features`` are; ``features`` are those of the partition.
        """
        self._gains *= MEMORY
        self._variances *= MEMORY**2
        self._visits *= MEMORY
        np.add.at(self._gains, split_features, gains)
        np.add.at(self._variances, split_features, variances)
        np.add.at(self._visits, features, 1.0)
        self._sets.learn(features, float(gains.sum()), float(variances.sum()))

    @property
    def _chosen_by_weight(self) -> bool:
        """Whether features are drawn one by one, where no list has them all alike."""
        return self._fraction < 1 or self._factors is not None

    def _part(self) -> NDArray[np.integer]:
        """Return the features from which the next ones are taken."""
        if self._fraction == 1:
            return self._allowed
        size = part_of(len(self._allowed), self._fraction)
        return self._public.choice(self._allowed, size, replace=False)

    def _some_of(self, among: NDArray[np.integer], k: int) -> NDArray[np.int32]:
        """Draw ``k`` different features or all: those that were never cut, then by chance."""
        new = (self._visits[among] <= 0) & np.isin(among, self.to_begin_with)
        drawn = self._public.permutation(among[new])[:k]
        among, k = among[~new], min(k - len(drawn), int((~new).sum()))
        if k:
            weights = self._chances()[among]
            more = self._public.choice(among, k, replace=False, p=weights / weights.sum())
            drawn = np.concatenate([drawn, more])
        return drawn.astype(np.int32)

    def _take_constrained(self, k: int, allowed: NDArray[np.integer]) -> NDArray[np.int32]:
        """Take a feature and then others from a group that it is in."""
        by_weight = self._chosen_by_weight
        first = int(self._some_of(allowed, 1)[0]) if by_weight else self._next()
        own = np.flatnonzero([first in group for group in self._groups or ()])
        group = allowed
        if self._groups is not None:
            group = np.array(self._groups[own[int(self._public.integers(len(own)))]])
        rest = group[(group != first) & np.isin(group, allowed)]
        if self._paired is not None and self._paired[first]:
            k = 1 if self._alone else min(k, 2)
        elif self._paired is not None:
            rest = rest[~self._paired[rest]]
        n_more = min(k - 1, len(rest))
        if not n_more:
            return np.array([first], dtype=np.int32)
        if by_weight:
            return np.concatenate(([first], self._some_of(rest, n_more))).astype(np.int32)
        if self._groups is None:
            return self._with_next(first, rest, n_more)
        weights = self._chances()[rest]
        more = self._public.choice(rest, n_more, replace=False, p=weights / weights.sum())
        return np.concatenate(([first], more)).astype(np.int32)

    def _with_next(self, first: int, rest: NDArray[np.integer], n_more: int) -> NDArray[np.int32]:
        """Add the next features of the list that are among the rest; the others keep their turn."""
        taken, passed = [first], []
        while len(taken) <= n_more:
            feature = self._next()
            if feature in rest and feature not in taken:
                taken.append(feature)
            elif feature not in taken:
                passed.append(feature)
        self._waiting += passed[::-1]
        return np.array(taken, dtype=np.int32)

    def _next(self) -> int:
        """Return the next feature of the list."""
        if not self._waiting:
            self._waiting = self._refill()
        return self._waiting.pop()

    def _refill(self) -> list[int]:
        allowed, first = self._allowed, self.to_begin_with
        if self.has_new:
            return first[self._public.permutation(len(first))].tolist()
        weights = self._chances()[allowed]
        positions = (np.arange(len(first)) + self._public.random()) / len(first)
        drawn = (weights / weights.sum()).cumsum().searchsorted(positions)
        drawn = np.minimum(drawn, len(allowed) - 1)
        return allowed[self._public.permutation(drawn)].tolist()

    def _chances(self) -> NDArray[np.float64]:
        """Return how much more often each feature is to be cut, up to a common factor."""
        preference = self.preference
        shown = self._shown(preference.doubt)
        best = max(float(shown.max()), 1e-12)
        chances = (shown / best) ** preference.power + preference.floor
        if self._preferred is not None:
            others = self._allowed[~self._preferred[self._allowed]]
            sure = self._shown(max(preference.doubt, DOUBT_OF_OTHERS))[others] / best
            part = max(PART_OF_OTHERS - self._exploring, 0.0)
            together = part / (1 - part) * chances[self.to_begin_with].sum()
            floor = min(float(together) / max(len(others), 1), preference.floor)
            chances[others] = sure**preference.power + floor
        return chances if self._factors is None else chances * self._factors

    def _shown(self, doubt: float) -> NDArray[np.float64]:
        """Return what each feature has shown in a partition, less deviations of the noise."""
        sure = self._gains - doubt * np.sqrt(self._variances)
        return np.maximum(sure, 0.0) / np.where(self._visits > 0, self._visits, 1.0)


# A partition has taken some of the gain that it shows; what is left counts for the next one. What
# was shown counts less with every later round, since other partitions take of it.
LEFT, SETS_MEMORY = 0.85, 0.995
# Standard deviations of noise by which a gain has to exceed 0.
DOUBT = 1.0
# So many sets are remembered.
MOST_SETS = 400


class FeatureSets:
    """The feature sets of earlier partitions, drawn in proportion to their released gains.

    Proof: docs/proofs/constraints.md.

    Only a partition of all features of a set measures their joint gain. The gain of a set is the
    released gain of its last partition, minus ``DOUBT`` standard deviations of the gain of pure
    noise.

    Parameters
    ----------
    chance : float
        Chance that a draw takes a remembered set, in [0, 1].

    Privacy
    -------
    Reads released gains and public randomness only: post-processing.
    """

    def __init__(self, chance: float, public: np.random.Generator) -> None:
        self._chance = chance
        self._public = public
        self._sets: list[tuple[int, ...]] = []
        self._positions: dict[tuple[int, ...], int] = {}
        self._gains = np.zeros(MOST_SETS)

    def draw(self) -> NDArray[np.int32] | None:
        """Return the features of a set, None if no set is to be taken."""
        if self._chance == 0 or self._public.random() >= self._chance:
            return None
        below = np.maximum(self._gains, 0.0).cumsum()
        if below[-1] == 0:
            return None
        position = int(below.searchsorted(self._public.random() * below[-1], side="right"))
        return np.array(self._sets[min(position, len(self._sets) - 1)], dtype=np.int32)

    def learn(self, features: NDArray[np.int32], gain: float, variance: float) -> None:
        """Remember what a partition of some features has shown; one alone is no set.

        Gain and variance are the sums over its splits of
        `dpboost.growing.shrunken_leaves.split_gains`.
        """
        if self._chance == 0:
            return
        self._gains *= SETS_MEMORY
        if len(features) > 1:
            own = self._position(tuple(sorted(features.tolist())))
            self._gains[own] = LEFT * (gain - DOUBT * variance**0.5)

    def _position(self, features: tuple[int, ...]) -> int:
        """Return the place of a set; a new one takes that of the least, where there is no room."""
        position = self._positions.get(features)
        if position is not None:
            return position
        if len(self._sets) < MOST_SETS:
            position = len(self._sets)
            self._sets.append(features)
        else:
            position = int(self._gains.argmin())
            del self._positions[self._sets[position]]
            self._sets[position] = features
        self._positions[features] = position
        return position
