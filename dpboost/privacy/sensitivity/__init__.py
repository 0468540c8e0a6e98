"""How far one row can move what is released."""
