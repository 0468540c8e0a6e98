"""Experiments on local privacy with public data: the tables and figures of the LPDT paper."""
