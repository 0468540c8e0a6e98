"""Training on a Dask cluster: memory, messages and time, and what they come to for more rows."""
