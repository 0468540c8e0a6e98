"""What the estimators share: parameters, fit arguments, docstrings."""
