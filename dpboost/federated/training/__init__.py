"""How the engine's queries become messages to parties."""
