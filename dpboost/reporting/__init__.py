"""Privacy reports, model pages and certificates."""
