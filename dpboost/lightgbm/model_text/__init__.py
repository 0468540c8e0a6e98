"""Reader and writer of LightGBM's text format."""
