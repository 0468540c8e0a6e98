"""What a model says of itself, measured: constraints, bands, spreads, intervals, single shapes."""
