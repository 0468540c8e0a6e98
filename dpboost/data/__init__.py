"""Private rows: one view of all kinds of tables, labels and bins.

All data here is private. The public metadata of a table are its column names, its column types
(with the categories of pandas' categorical columns) and the declarations of a `Schema`; error
messages contain nothing else.
"""
