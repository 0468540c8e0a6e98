"""How many fits with fresh noise there are at least, over the folds of a set together, by method.

A record shows how many it has, so this file is not among those that mark one.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

Fits = Mapping[str | tuple[str, str], int]

#: More where a fit takes a tenth of a second, fewer where it takes ten.
FIGURE_2: Fits = MappingProxyType(
    {
        "DPBoost": 100,
        "PARA": 100,
        "SEQ": 40,
        ("adult", "DPBoost"): 400,
        ("adult", "PARA"): 400,
        ("cod-rna", "DPBoost"): 400,
        ("cod-rna", "PARA"): 400,
        ("synthetic_reg", "SEQ"): 20,
        ("synthetic_cls", "SEQ"): 20,
    }
)
#: Of figures 3 and 8. A fit of SEQ takes as long as ten of the others.
FIGURE_3: Fits = MappingProxyType({"SEQ": 15, "PARA": 60, "DPBoost": 60})
FIGURE_7: Fits = MappingProxyType(dict.fromkeys(("SEQ", "PARA", "DPBoost"), 15))
FIGURE_4: Fits = MappingProxyType(
    {
        "DPBoost": 100,
        "DPBoost without leaf clipping": 100,
        ("adult", "DPBoost"): 600,
        ("adult", "DPBoost without leaf clipping"): 600,
        ("cod-rna", "DPBoost"): 600,
        ("cod-rna", "DPBoost without leaf clipping"): 600,
    }
)
