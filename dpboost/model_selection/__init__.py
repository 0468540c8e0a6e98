"""Cross-validation, forecasts, new leaves for a model, and replays of all of them."""
