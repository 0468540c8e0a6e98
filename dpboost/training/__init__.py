"""The steps of a fit, in their order."""
