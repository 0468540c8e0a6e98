"""Private rows while a model is trained; what leaves is `Sensitive`."""
