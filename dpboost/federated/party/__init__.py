"""A data holder: its rows, its own record of charges, its answers."""
