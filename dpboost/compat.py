"""``lightgbm.compat`` under our name: what is installed beside LightGBM.

Which names there are depends on the installed LightGBM; all of them are its own.
"""

from __future__ import annotations

from typing import Any

import lightgbm.compat

from dpboost._utils.lightgbm_names import name_of


def __getattr__(name: str) -> Any:
    return name_of(lightgbm.compat, name)
