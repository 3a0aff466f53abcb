"""Shared parts of plots: colours, axes, legends, labels, and SVG for embedding in a page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from functools import cache
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from privacygauge.report.numbers import plain
from privacygauge.report.values import Axes, Plot

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.figure import Figure


SERIES = ("#0067a5", "#c8500a", "#00795c", "#a3407a", "#8a6500", "#4b3fa7")
"""Colours of curves, distinct for colour-blind readers, with a contrast to white of at least
4.5:1."""

INK = "#1a1c1f"
"""Colour of text and axes."""
FAINT = "#c9ccd1"
"""Colour of the grid."""
OTHER = "#8b9097"
"""Colour of curves beyond the named ones."""
PAPER = "#fefefe"
"""Colour of the background."""

DASHES = (
    "solid",
    (0, (5, 1.6)),
    (0, (1.2, 1.2)),
    (0, (6, 1.5, 1.2, 1.5)),
    (0, (3, 1)),
    (0, (8, 3)),
)
"""Line styles, so that curves are not distinguished by colour alone."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
"""Markers of points, so that points are not distinguished by colour alone."""

SIZE = (4.0, 3.5)
"""Size of a plot in inches; small, so that text stays legible on a phone."""


def axes(ax: Axes | None) -> Axes:
    """Return `ax`, or the axes of a new figure without a window, which a notebook shows."""
    if ax is not None:
        return ax
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, layout="constrained")
    return style_axes(figure.add_subplot(axes_class=_pictured_axes()))


@cache
def _pictured_axes() -> type[Axes]:
    """Return a class of axes that a notebook shows as a picture.

    Notebooks show figures of pyplot, which would keep them and may open a window elsewhere.
    """
    from matplotlib import axes as matplotlib_axes

    class PicturedAxes(matplotlib_axes.Axes):
        """Axes of one plot, with the picture of their figure."""

        def _repr_png_(self) -> bytes:
            file = io.BytesIO()
            figure = self.get_figure(root=True)
            assert figure is not None
            figure.savefig(file, format="png", dpi=144, facecolor="white")
            return file.getvalue()

    return PicturedAxes


def style_axes(ax: Axes) -> Axes:
    """Give `ax` the grid, ticks and frame of all plots, and return it."""
    ax.grid(color=FAINT, lw=0.6)
    ax.set_axisbelow(True)
    ax.tick_params(which="both", color=FAINT, labelcolor=INK, labelsize=8.5)
    for side, spine in ax.spines.items():
        spine.set(color=INK, linewidth=0.8, visible=side in ("left", "bottom"))
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set(color=INK, fontsize=9)
    return ax


def legend(ax: Axes, **options: Any) -> None:
    """Add a legend that is legible on the page in light and dark mode."""
    legend = ax.legend(
        fontsize=7.5, labelcolor=INK, handlelength=2.0, handletextpad=0.5, labelspacing=0.3,
        borderaxespad=0.2, borderpad=0.2, columnspacing=1.2,
        facecolor=PAPER, edgecolor="none", framealpha=0.85, **options
    )  # fmt: skip
    legend.get_title().set(fontsize=7.5, color=INK)


def legend_above(ax: Axes, n: int, height: float) -> None:
    """Put a legend of n names above the plot, so that it hides no point.

    `height` is the height of the plot without the legend, in inches.
    """
    names = ax.get_legend_handles_labels()[1]
    columns = 1 if max(map(len, names)) > 28 else 2
    legend(ax, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns)
    figure = ax.get_figure(root=True)
    if figure is not None and len(figure.axes) == 1:
        figure.set_size_inches(4.4, height + 0.17 * -(-n // columns))


def plot_label(title: str, *, lines: int = 1) -> str:
    """Return a user-supplied name for a plot: shortened to lines, with no markup for formulas."""
    text = plain(title)
    if lines == 1:
        told = text if len(text) <= 34 else text[:33] + "\N{HORIZONTAL ELLIPSIS}"
    else:
        told = "\n".join(wrap(text, 34, max_lines=lines, placeholder="\N{HORIZONTAL ELLIPSIS}"))
    return told.replace("$", r"\$")


def inline_plot(plot: Plot) -> Markup:
    """Return a plot as SVG with the page's colours and fonts, a title and a description.

    Its `name` keeps its ids distinct from other plots'.
    """
    from markupsafe import Markup, escape

    name = plot.name
    svg = svg_text(plot.draw, transparent=True)
    body = svg[svg.index("<svg") :]
    box = re.search(r'viewBox="([^"]*)"', body)
    assert box is not None
    body = body[body.index(">") + 1 :]
    # Without what a page does not need; then ids and references get the prefix of this plot, and
    # colours and fonts those of the page.
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
        f'<title id="{name}-title">{escape(plot.title)}</title>'
        f'<desc id="{name}-desc">{escape(plot.words)}</desc>'
    )
    return Markup(head + body)


def svg_text(draw: Callable[[], Axes | Figure], *, transparent: bool) -> str:
    """Return a drawing as reproducible SVG, with text as text."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    file = io.StringIO()
    # Ids come from this salt: the same drawing has the same bytes.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "privacygauge"}):
        figure = draw().get_figure(root=True)
        assert figure is not None
        FigureCanvasSVG(figure)
        layout = figure.get_layout_engine()
        if layout is not None:  # laid out here: saving would draw everything once more for it
            layout.execute(figure)
            figure.set_layout_engine(None)
        figure.savefig(file, format="svg", transparent=transparent, metadata={"Date": None})
    return file.getvalue()


_VARIABLES = {colour: f"series-{i}" for i, colour in enumerate(SERIES)} | {
    INK: "plot-ink",
    FAINT: "plot-grid",
    OTHER: "plot-other",
    PAPER: "card",
}
"""CSS custom properties of the page that replace the colours of plots."""
