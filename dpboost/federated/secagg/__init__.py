"""Sums of which no one sees a summand."""
