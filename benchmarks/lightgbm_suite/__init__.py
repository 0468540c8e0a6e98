"""LightGBM's own Python tests, run against dpboost, and each one sorted."""
