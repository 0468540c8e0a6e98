"""``command-help``: the help of the command line, as the program prints it."""

from __future__ import annotations

from docutils import nodes
from sphinx.util.docutils import SphinxDirective


class CommandHelp(SphinxDirective):
    """Shows what ``dpboost NAME --help`` prints; without a name ``dpboost --help``."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the text as a block of code."""
        import os

        from dpboost.cli.main import help_of

        os.environ["COLUMNS"] = "96"
        text = help_of(self.arguments[0] if self.arguments else None)
        block = nodes.literal_block(text, text)
        block["language"] = "text"
        return [block]


def setup(app) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("command-help", CommandHelp)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
