"""The command line: a model, its predictions and its pages without a line of Python."""
