"""Accuracy and speed of dpboost on public data, and of what it is compared with.

Run from a checkout with ``python -m benchmarks``; the package is not installed with dpboost.
"""
