"""Do the libraries of ``run peers`` keep what they promise? ``run peers-audit``.

Each is fitted again and again on two tables that differ in one row, as a black box. Events that
are more frequent on one table than its epsilon allows refute it; no event proves nothing.
"""
