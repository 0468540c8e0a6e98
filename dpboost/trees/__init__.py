"""Trees: released trees, and growing trees."""
