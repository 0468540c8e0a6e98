"""The tables and figures of the DPBoost paper: ``python -m benchmarks run figure2`` and the like.

Q. Li, Z. Wu, Z. Wen and B. He, "Privacy-Preserving Gradient Boosting Decision Trees", AAAI 2020.
"""
