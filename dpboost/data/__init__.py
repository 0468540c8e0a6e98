"""The private rows: one view of every kind of table, its labels and its bins.

Everything here stays on the private side. What is public about a table is its column names,
its column types (with the category lists of pandas' categorical columns) and what a `Schema`
declares; error messages speak of nothing else.
"""
