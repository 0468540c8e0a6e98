"""A data holder: its rows, its record of charges, and its messages."""
