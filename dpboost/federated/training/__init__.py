"""Conversion of the engine's queries to messages of parties."""
