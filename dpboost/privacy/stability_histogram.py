"""The stability histogram: releases the names that enough rows have, without counts.

Proof: docs/proofs/categories.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError
from dpboost.privacy.exact_arithmetic import Epsilon, PrivacyCost
from dpboost.privacy.mechanisms import Noise
from dpboost.privacy.randomness import Entropy
from dpboost.privacy.sensitivity.bound import Norm, Sensitivity

#: Type, something to sort by, and the name itself.
Name = tuple[str, str, Any]
#: The names of each column that passed.
Names = tuple[tuple[Name, ...], ...]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class NameCounts:
    """Private counts of the names that occur in each column.

    Privacy
    -------
    Private, the number of names included: it lives inside a `Sensitive`, as an array does.
    """

    columns: Sequence[Counter[Name]]
    #: What one row adds to its name.
    units: int = 1

    @property
    def shape(self) -> tuple[int]:
        """Number of columns, public."""
        return (len(self.columns),)

    @property
    def size(self) -> int:
        """Number of columns, public."""
        return len(self.columns)

    @property
    def names(self) -> Names:
        """Names of each column in a fixed order."""
        return tuple(tuple(sorted(counted)) for counted in self.columns)

    def flat(self) -> NDArray[np.int64]:
        """Return the counts of all names, in the order of `names`."""
        tables = zip(self.columns, self.names, strict=True)
        counts = [counted[name] * self.units for counted, own in tables for name in own]
        return np.array(counts, dtype=np.int64)

    def passing(self, noisy: NDArray[np.int64], threshold: int) -> Names:
        """Return the names whose noisy count reaches the threshold."""
        passed = iter((noisy >= threshold).tolist())
        return tuple(tuple(name for name in own if next(passed)) for own in self.names)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("counts depend on private rows and cannot be pickled or copied")


@dataclass(frozen=True, kw_only=True)
class StabilityHistogram:
    """Release the names whose noisy count reaches a threshold.

    The noise is charged as for a histogram of all possible names. The failure probability, that the
    name of a single row is released, is charged as a separate delta.
    """

    noise: Noise
    #: In units.
    threshold: int

    @property
    def name(self) -> str:
        """Name of the noise."""
        return self.noise.name

    @property
    def needs(self) -> Norm:
        """Kind of the sensitivity that the noise works with."""
        return self.noise.needs

    @property
    def epsilon(self) -> Epsilon | None:
        """Pure epsilon of the noise, or None."""
        return self.noise.epsilon

    @property
    def rho(self) -> PrivacyCost:
        """Zero-concentrated rho of the noise."""
        return self.noise.rho

    @property
    def mu_squared(self) -> PrivacyCost | None:
        """Squared mu of the noise, or None."""
        return self.noise.mu_squared

    def parameters(self, bound: Sensitivity) -> tuple[int, ...]:
        """Return the integers that the kernel of the noise takes."""
        return self.noise.parameters(bound)

    def check(self, value: Any) -> None:
        """Raise unless the value is a table of names."""
        if not isinstance(value, NameCounts):
            raise InvalidParameterError("A stability histogram releases names, from NameCounts.")

    def draw(self, value: NameCounts, bound: Sensitivity, entropy: Entropy) -> Names:
        """Return the names that passed."""
        noisy = self.noise.draw(value.flat(), bound, entropy)
        return value.passing(noisy, self.threshold)
