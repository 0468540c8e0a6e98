"""Secure aggregation: sums whose summands are hidden."""
