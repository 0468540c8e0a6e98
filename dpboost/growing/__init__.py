"""Public rules by which trees grow, over released numbers alone."""
