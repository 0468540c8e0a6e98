"""Writes formulas as MathML, which browsers draw themselves: no script from another site."""

from __future__ import annotations

from html import escape

from docutils import nodes


def _markup(text: str, *, block: bool) -> str:
    try:
        from docutils.utils.math import tex2mathml_extern  # noqa: F401 - tells newer versions
        from docutils.utils.math.latex2mathml import tex2mathml
    except ImportError:  # docutils before 0.20
        from docutils.utils.math.latex2mathml import parse_latex_math as tex2mathml
    return str(tex2mathml(text, as_block=block))


def _inline(translator, node) -> None:
    # The style sheet lets a long one be scrolled on a narrow screen: browsers break no formula.
    markup = _markup(node.astext(), block=False)
    translator.body.append(f'<span class="formula">{markup}</span>')
    raise nodes.SkipNode


def _block(translator, node) -> None:
    text = node.astext()
    translator.body.append(f'<div class="math" title="{escape(text)}">')
    translator.body.append(_markup(text, block=True))
    translator.body.append("</div>")
    raise nodes.SkipNode


def setup(app) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
