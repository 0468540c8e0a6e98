"""Public rules of tree growth that use released numbers only."""
