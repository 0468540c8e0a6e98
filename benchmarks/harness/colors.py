"""One color a method, on every page."""

from __future__ import annotations

import zlib

#: Methods that stand beside each other on pages: no two of them alike.
MAIN = {
    "SEQ": "#d62728",
    "PARA": "#ff7f0e",
    "DPBoost": "#1f77b4",
    "best": "#2ca02c",
    "NP": "#000000",
    "DP-TopDown": "#6a3d9a",
    "histograms": "#c2185b",
    "SuLQ": "#8c2d04",
    "Max": "#0072b2",
    "Gini": "#e69f00",
    "InfoGain": "#009e73",
    "CART": "#5d6d7e",
    "LPDT-M": "#17607a",
    "LPDT-V": "#3cb371",
    "PHIST": "#8c564b",
    "APHIST": "#e377c2",
    "DECONV": "#bcbd22",
    "NoisyCounts": "#b22222",
    "LocalRNM": "#008b8b",
    "DP-EBM": "#9467bd",
    "dp-xgboost": "#b8860b",
    "diffprivlib forest": "#7f3c8d",
    "constant": "#9a9a9a",
    "noisy moments": "#0047ab",
    "noisy gradient descent": "#ff1493",
    "diffprivlib linear": "#4b0082",
    "diffprivlib naive Bayes": "#c71585",
    "MST + LightGBM": "#00a5cf",
    "AIM + LightGBM": "#8b4513",
}

#: Other names of the same, and what is no method but a series of a figure.
_ALSO = {
    "LightGBM": MAIN["NP"],
    "our best tree": MAIN["best"],
    "best tree": MAIN["best"],
    "dpboost": MAIN["DPBoost"],
    "para": MAIN["PARA"],
    "seq": MAIN["SEQ"],
    "SingleMachine": MAIN["DP-TopDown"],
    "saving as printed": "#8c564b",
    "saving, 0.1 for the bounds": "#1f77b4",
    "saving, 0.25 for the bounds": "#17becf",
    "saving, 0.5 for the bounds": "#2ca02c",
    "saving, 0.75 for the bounds": "#ff7f0e",
    "saving, 0.9 for the bounds": "#9467bd",
    "CART of one party": "#2e8b57",
    "CART of all rows": MAIN["CART"],
    "CART of all 2n rows": MAIN["CART"],
    "C4.5 without noise": "#34495e",
    "ID3": "#34495e",
    "without noise": "#34495e",
    "truth": "#000000",
    "drawn": "#7f3c8d",
    "small leaves": "#e73f74",
    "decay": "#1f77b4",
    "uniform": "#ff7f0e",
    "100% of the rows": "#1f77b4",
    "20% of the rows": "#2ca02c",
    "5% of the rows": "#ff7f0e",
    "1% of the rows": "#d62728",
    "epsilon 3": "#d62728",
    "epsilon 4": "#ff7f0e",
    "epsilon 6": "#2ca02c",
    "epsilon 8": "#1f77b4",
    "signed cell": "#2ca02c",
    "paper's mechanism": "#1f77b4",
    "paper's mechanism and estimate": "#ff7f0e",
}
_OTHERS = (
    "#17becf", "#7f3c8d", "#11a579", "#3969ac", "#e68310", "#80ba5a", "#e73f74",
    "#cf1c90", "#a5aa99",
)  # fmt: skip


def color(method: str) -> str:
    """Return the color of a method; the same for its variants, whose names begin alike."""
    first = method.removesuffix("*").split(",")[0]
    # "Saving" is a variant of histograms, a part of the budget for the bounds a series.
    known = method if method.endswith("for the bounds") else first
    if known == "histograms" and "saving" in method:
        return "#e8871e"
    found = MAIN.get(known) or _ALSO.get(known)
    return found or _OTHERS[zlib.crc32(first.encode()) % len(_OTHERS)]
