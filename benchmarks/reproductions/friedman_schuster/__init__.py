"""Friedman and Schuster, "Data Mining with Differential Privacy", KDD 2010."""
