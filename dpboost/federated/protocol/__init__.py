"""Agreements and messages of the coordinator and the parties."""
