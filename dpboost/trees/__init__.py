"""Trees: what a released tree is, and how one is grown through the gate."""
