"""LightGBM's text format, written and read."""
