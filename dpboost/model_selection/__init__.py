"""Cross-validation, forecasts, refits, and replays."""
