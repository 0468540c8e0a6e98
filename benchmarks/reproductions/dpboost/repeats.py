"""How many fits with fresh noise there are at least, over the folds of a set together, by method.

A record shows how many it has, so this file is not among those that mark one.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from types import MappingProxyType

Fits = Mapping[str | tuple[str, str], int]

#: Where a fit takes a tenth of a second, and where one of SEQ takes ten.
_FAST = ("adult", "cod-rna")
_SLOW = ("synthetic_reg", "synthetic_cls")
_CLIPPING = ("DPBoost", "DPBoost without leaf clipping")

FIGURE_2: Fits = MappingProxyType(
    {
        "DPBoost": 100,
        "PARA": 100,
        "SEQ": 40,
        **dict.fromkeys(product(_FAST, ("DPBoost", "PARA")), 400),
        **dict.fromkeys(product(_SLOW, ("SEQ",)), 20),
    }
)
#: Of figures 3 and 8. A fit of SEQ takes as long as ten of the others.
FIGURE_3: Fits = MappingProxyType({"SEQ": 15, "PARA": 60, "DPBoost": 60})
FIGURE_7: Fits = MappingProxyType(dict.fromkeys(("SEQ", "PARA", "DPBoost"), 15))
FIGURE_4: Fits = MappingProxyType(
    {**dict.fromkeys(_CLIPPING, 100), **dict.fromkeys(product(_FAST, _CLIPPING), 600)}
)
