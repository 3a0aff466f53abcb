"""Plots as inline SVG: text stays text, colours follow the page, and words say what is seen."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from privacygauge.report.axes import FAINT, INK, OTHER, PAPER, SERIES
from privacygauge.report.values import Plot

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def drawn(plot: Plot) -> Markup:
    """Return a plot ready to stand in a page; its name tells it from the others there."""
    return _inline(svg_text(plot.draw, transparent=True), plot.name, plot.title, plot.words)


def svg_text(draw: Callable[[], Axes | Figure], *, transparent: bool) -> str:
    """Return what `draw` draws as SVG, the same at every call; text in it stays text."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    file = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "privacygauge"}):
        figure = draw().get_figure(root=True)
        assert figure is not None
        FigureCanvasSVG(figure)
        layout = figure.get_layout_engine()
        if layout is not None:  # saving would draw it all once more to lay it out
            layout.execute(figure)
            figure.set_layout_engine(None)
        figure.savefig(file, format="svg", transparent=transparent, metadata={"Date": None})
    return file.getvalue()


def _inline(svg: str, name: str, title: str, description: str) -> Markup:
    """Return the SVG ready to stand in a page beside others."""
    from markupsafe import Markup, escape

    body = svg[svg.index("<svg") :]
    box = re.search(r'viewBox="([^"]*)"', body)
    assert box is not None
    body = body[body.index(">") + 1 :]
    body = re.sub(r"\s*<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r"<style[^>]*>.*?</style>", "", body, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->\n?", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="', f'id="{name}-', body)
    body = re.sub(r'(?:xlink:)?href="#', f'href="#{name}-', body)
    body = body.replace("url(#", f"url(#{name}-")
    body = re.sub(r"font-family: [^;\"]*;?", "", body)
    body = re.sub(r"(font: [0-9.]+px) [^;\"]*", r"\1 var(--sans)", body)
    for colour, variable in _VARIABLES.items():
        body = body.replace(colour, f"var(--{variable})")
    head = (
        f'<svg viewBox="{box[1]}" role="img" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-desc">{escape(description)}</desc>'
    )
    return Markup(head + body)


_VARIABLES = {colour: f"series-{i}" for i, colour in enumerate(SERIES)} | {
    INK: "plot-ink",
    FAINT: "plot-grid",
    OTHER: "plot-other",
    PAPER: "card",
}
"""Colours of the plots, and the custom properties that stand for them on the page."""
