"""How many fits with fresh noise there are at least, over the folds of a set together, by method.

A record shows how many it has, so this file is not among those that mark one.
"""

from __future__ import annotations

from types import MappingProxyType

FIGURE_2 = MappingProxyType({"DPBoost": 100, "PARA": 100, "SEQ": 40})
#: Sets and methods of figure 2 that have half of them: a fit takes ten seconds.
SLOW_2 = frozenset({("synthetic_reg", "SEQ"), ("synthetic_cls", "SEQ")})
#: Of figures 3, 7 and 8: three of each fold, so that what noise does is known.
FIGURE_3 = MappingProxyType(dict.fromkeys(("SEQ", "PARA", "DPBoost"), 15))
FIGURE_4 = MappingProxyType(dict.fromkeys(("DPBoost", "DPBoost without leaf clipping"), 100))
