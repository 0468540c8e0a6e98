"""Figures of the papers of the single trees, measured again.

``python -m benchmarks.reproductions NAME [--quick]`` writes ``results/NAME.csv``, ``.md`` and
``.png``. A figure is accuracy against one quantity, for several methods on several data sets.
"""
