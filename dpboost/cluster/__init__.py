"""Shared code for clusters: rows in partitions on workers, and one privacy gate."""
