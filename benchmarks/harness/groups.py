"""The six groups of the results."""

from __future__ import annotations

from enum import Enum


class Group(Enum):
    """A group of results: its heading in the index; its name in lower case on the command line."""

    ACCURACY = "Accuracy"
    PRIVACY = "Privacy: attacks, audits and records"
    FEDERATED = "Federated training"
    SPEED = "Speed, memory and compatibility"
    MODELS = "Models and explanations"
    PAPERS = "The five papers"

    @property
    def word(self) -> str:
        """The word of the command line."""
        return self.name.lower()
