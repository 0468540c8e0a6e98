"""Names of ``lightgbm.compat``.

All names are those of the installed LightGBM.
"""

from __future__ import annotations

from typing import Any

import lightgbm.compat

from dpboost._utils.lightgbm_names import name_of


def __getattr__(name: str) -> Any:
    return name_of(lightgbm.compat, name)
