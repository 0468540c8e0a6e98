"""What all runs share: one form of results, one store, one writer of pages, one plot style."""
