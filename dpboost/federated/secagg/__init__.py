"""Sums of which nobody sees a summand."""
