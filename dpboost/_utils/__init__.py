"""Checks of arguments, warnings, threads and progress."""
