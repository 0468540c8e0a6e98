"""Apps of three data holders and a coordinator."""
