"""Boosting: schedules of ensembles, the rows' private scores, and the one loop."""
