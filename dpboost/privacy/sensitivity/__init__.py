"""Sensitivities of all releases."""
