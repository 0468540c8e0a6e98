"""The gate: the only room through which anything computed from private rows may leave.

Read it in this order: ``relation`` (who is protected from what), ``sensitive`` (a value and how
far one row can move it), ``constants`` (those distances, each with its proof), ``mechanisms``
(the noise), ``accounting`` (what it costs), ``ledger`` (the charges, and the one way out),
``report`` (what is reported about it). ``budget``, ``bounds`` and ``categories`` are built on
those.
"""
