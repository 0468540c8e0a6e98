"""Tables of parameters: ``lightgbm-names``, and ``parameter-ranges`` with those of this library."""

from __future__ import annotations

from docutils import nodes
from parameter_ranges import rows as ranges
from sphinx.util.docutils import SphinxDirective


class NameTable(SphinxDirective):
    """Shows the rows of functions (``surface``) or of parameters (``parameters``)."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        from dpboost.lightgbm import parity

        rows = parity.SURFACE if self.arguments[0] == "surface" else parity.parameter_rows()
        lines = [
            [nodes.literal(row.name, row.name), nodes.Text(row.kind), nodes.Text(row.note)]
            for row in rows
        ]
        return [_table(("name", "here", "note"), (30, 15, 55), lines)]


class RangeTable(SphinxDirective):
    """Shows every parameter of this library with range, default and effects."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        lines = [[nodes.literal(name, name), *map(nodes.Text, cells)] for name, *cells in ranges()]
        head = ("parameter", "range", "default", "of", "effect on privacy", "effect on accuracy")
        return [_table(head, (16, 18, 10, 10, 23, 23), lines)]


def _table(
    head: tuple[str, ...], widths: tuple[int, ...], lines: list[list[nodes.Node]]
) -> nodes.table:
    table = nodes.table(classes=["names"])
    group = nodes.tgroup(cols=len(head))
    table += group
    group.extend(nodes.colspec(colwidth=width) for width in widths)
    top, body = nodes.thead(), nodes.tbody()
    group += [top, body]
    top += _row([nodes.Text(word) for word in head])
    body.extend(map(_row, lines))
    return table


def _row(cells: list[nodes.Node]) -> nodes.row:
    found = nodes.row()
    for cell in cells:
        paragraph = nodes.paragraph("", "", cell)
        found += nodes.entry("", paragraph)
    return found


def setup(app) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("lightgbm-names", NameTable)
    app.add_directive("parameter-ranges", RangeTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
