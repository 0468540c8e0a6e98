"""Private rows during training; results are `Sensitive` values."""
