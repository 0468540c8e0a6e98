"""Bugs planted by rule, and which tests see them."""
