"""The estimators, and their shared parameters, fit arguments and docstrings."""
