"""``lightgbm-names``: what each name of LightGBM means here, from the library's own table."""

from __future__ import annotations

from docutils import nodes
from sphinx.util.docutils import SphinxDirective


class NameTable(SphinxDirective):
    """Shows the rows of functions (``surface``) or of parameters (``parameters``)."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        from dpboost.lightgbm import parity

        rows = parity.SURFACE if self.arguments[0] == "surface" else parity.parameter_rows()
        table = nodes.table(classes=["names"])
        group = nodes.tgroup(cols=3)
        table += group
        for width in (30, 15, 55):
            group += nodes.colspec(colwidth=width)
        head, body = nodes.thead(), nodes.tbody()
        group += [head, body]
        head += _row([nodes.Text(word) for word in ("name", "here", "note")])
        for row in rows:
            body += _row(
                [nodes.literal(row.name, row.name), nodes.Text(row.kind), nodes.Text(row.note)]
            )
        return [table]


def _row(cells: list[nodes.Node]) -> nodes.row:
    found = nodes.row()
    for cell in cells:
        paragraph = nodes.paragraph("", "", cell)
        found += nodes.entry("", paragraph)
    return found


def setup(app) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("lightgbm-names", NameTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
