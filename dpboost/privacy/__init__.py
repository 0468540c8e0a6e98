"""The privacy gate: every value computed from private rows is released here.

Read it in this order: ``relation`` (who is protected from what), ``sensitive`` (a value and how
far one row can move it), ``constants`` (those distances, each with its proof), ``mechanisms``
(the noise), ``accounting`` (the privacy loss), ``ledger`` (the charges and the releases),
``report`` (the result). ``budget``, ``bounds`` and ``categories`` use these.
"""
