"""Draw estimates with matplotlib, and save figures as PNG for a light and a dark page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from textwrap import fill
from typing import Any

import matplotlib as mpl
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, NullFormatter, PercentFormatter

from model.evaluation.bootstrap import Estimate
from model.evaluation.judgement_columns import Floats

GREY = -1
"""Colour index of constants and references."""
# The width of a phone at twice the pixels, so that text is as large as on the page.
_INCHES, _DOTS_PER_INCH = 4.6, 180
_ROW, _MARGIN = 0.28, 0.85
_LONGEST = 48
"""Longest name in a legend, in characters. A label beside an axis has half of it per line."""
_MARKERS = "osD^vPX*"
_MOST_MARKED = 24
"""A curve with more points is drawn without markers."""
_DASHES = ("-", "--", ":", "-.")
_GREY_DASHES = {"oracle": "--", "majority": "-."}
_REFERENCES = ((0, (5, 2)), (0, (1, 1.5)), (0, (4, 1.5, 1, 1.5)))

Scale = Callable[[Axis], None]
Row = tuple[str, Mapping[int, Estimate]]
"""A label, and an estimate for each colour index."""
Curve = tuple[str, int, Sequence[tuple[float, Estimate]]]
"""A label, a colour index, and the points. A grey curve is a reference."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel of a dot plot: rows of points over an axis of values."""

    title: str
    rows: Sequence[Row]
    """For each row its label, and its estimates by colour index."""
    lines: Sequence[tuple[str, float]] = ()
    """Label and value of each reference line."""


def _build_style(paper: str, ink: str, faint: str, colours: Sequence[str]) -> dict[Any, Any]:
    inked = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    return {
        "text.parse_math": False,  # a name may contain dollar signs
        "font.family": "DejaVu Sans",
        "font.size": 9.5,
        "axes.prop_cycle": cycler(color=colours),
        "axes.titlesize": 10,
        "axes.titlelocation": "left",
        "axes.titleweight": "bold",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "grid.alpha": 0.25,
        "grid.color": faint,
        "legend.frameon": False,
        "legend.fontsize": 8.5,
        "figure.dpi": _DOTS_PER_INCH,
        **dict.fromkeys(("figure.facecolor", "savefig.facecolor", "axes.facecolor"), paper),
        **dict.fromkeys(inked, ink),
    }


# Colours that colour-blind readers can tell apart (Okabe and Ito), for one background each.
LIGHT = _build_style(
    "#ffffff",
    "#1f2328",
    "#767d86",
    ("#0072b2", "#d55e00", "#009e73", "#a8457f", "#b07800", "#2b8fc4", "#1f2328"),
)
DARK = _build_style(
    "#15191f",
    "#e6e9ed",
    "#8d96a1",
    ("#56b4e9", "#f08030", "#2ec79b", "#e59ac5", "#f0c000", "#9fd4f5", "#e6e9ed"),
)


def draw_png(draw: Callable[[], Canvas], style: dict[Any, Any]) -> bytes:
    """Draw a figure with the settings of `style` (LIGHT or DARK) and return the bytes of a PNG file."""
    with mpl.rc_context(style):
        out = BytesIO()
        draw().savefig(out, format="png", metadata={"Software": None})
        return out.getvalue()


def show_shares(axis: Axis) -> None:
    """Format an axis of shares: per cent, always from 0 to 1, so that figures can be compared."""
    axis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    set_limits = axis.axes.set_xlim if axis is axis.axes.xaxis else axis.axes.set_ylim
    set_limits(-0.02, 1.02)


def show_small_shares(axis: Axis) -> None:
    """Format a y axis of small shares in per cent, from 0 to the largest value or to 1 %."""
    axis.set_major_formatter(PercentFormatter(1.0))
    axis.axes.set_ylim(0, max(1.05 * axis.get_data_interval()[1], 0.01))


def show_differences(axis: Axis) -> None:
    """Format an axis of differences between shares in percentage points, with a sign."""
    axis.set_major_formatter(
        FuncFormatter(lambda value, _at: f"{100 * value:+.3g}" if value else "0")
    )
    axis.set_label_text("percentage points")


def show_seconds(axis: Axis) -> None:
    """Format an x axis of seconds with a logarithmic scale."""
    axis.axes.set_xscale("log")
    axis.set_major_formatter(FuncFormatter(lambda value, _at: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def draw_dots(
    panels: Sequence[Panel],
    *,
    legend: Sequence[tuple[int, str]] = (),
    scale: Scale = show_shares,
) -> Canvas:
    """Draw a dot plot, with each estimate as a point with its interval, and return the matplotlib figure.

    The panels stand below each other. `legend` has (colour index, name) pairs, for rows with several points. `scale`
    formats the axis of values.
    """
    most = max((len(points) for panel in panels for _, points in panel.rows), default=1)
    row = _ROW * max(1.0, 0.55 * most)
    heights = [row * len(panel.rows) + _MARGIN for panel in panels]
    size = (_INCHES, sum(heights) + 0.2 * len(legend) + 0.1)
    canvas = Canvas(figsize=size, layout="constrained")
    axes = canvas.subplots(len(heights), squeeze=False, height_ratios=heights, sharex=True)
    for place, panel in zip(axes[:, 0], panels, strict=True):
        _draw_panel(place, panel, scale)
    handles = [
        axes[0, 0].plot([], [], label=_shorten(label), **_choose_look(colour))[0]
        for colour, label in legend
    ]
    if handles:
        canvas.legend(handles=handles, loc="outside lower left", ncols=1)
    return canvas


def _draw_panel(axes: Axes, panel: Panel, scale: Scale) -> None:
    for index, (_, points) in enumerate(panel.rows):
        for place, (colour, estimate) in enumerate(points.items()):
            y = index + (place - (len(points) - 1) / 2) * 0.7 / len(points)
            values, lows, highs = _to_floats([estimate])
            look = _choose_look(colour)
            axes.plot(values, [y], **look)
            axes.hlines([y], lows, highs, colors=look["color"], linewidth=1.6)
    for index, (label, value) in enumerate(panel.lines):
        look = {"color": mpl.rcParams["grid.color"], "linestyle": _REFERENCES[index % 3]}
        axes.axvline(value, linewidth=1.2, label=label, **look)
    axes.set_title(panel.title)
    axes.set_yticks(range(len(panel.rows)), [_wrap(label) for label, _ in panel.rows])
    axes.set_ylim(len(panel.rows) - 0.4, -0.6)
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelbottom=True)
    scale(axes.xaxis)
    if any(label for label, _ in panel.lines):
        below = -0.3 if axes.get_xlabel() else -0.12  # below the label of the axis
        axes.legend(loc="upper left", bbox_to_anchor=(0, below), ncols=1)


def _to_floats(estimates: Sequence[Estimate]) -> tuple[Floats, Floats, Floats]:
    """List values, lower and upper bounds. None becomes NaN, which matplotlib does not draw."""
    columns = [(estimate.value, estimate.low, estimate.high) for estimate in estimates]
    values, lows, highs = np.asarray(columns, dtype=np.float64).reshape(-1, 3).T
    return values, lows, highs


def _choose_look(colour: int) -> dict[str, Any]:
    """Choose colour and marker of a series. Either alone identifies it."""
    if colour == GREY:
        grey = mpl.rcParams["grid.color"]
        return {"color": grey, "marker": "|", "linestyle": "none", "markersize": 9}
    marker = _MARKERS[colour % len(_MARKERS)]
    return {"color": f"C{colour}", "marker": marker, "linestyle": "none", "markersize": 5.5}


def draw_curves(
    curves: Sequence[Curve],
    labels: tuple[str, str],
    *,
    ticks: Sequence[str] = (),
    level: float | None = None,
    scale: Scale | None = show_shares,
) -> Canvas:
    """Draw curves in one panel, with the legend below, and return the matplotlib figure.

    `labels` are the texts of the x and y axes. `ticks` are texts at x = 0, 1, 2, …. `level` is the height of a
    reference line. `scale` formats the y axis; with None it has matplotlib's own format.
    """
    # inches: one more line of legend per curve
    canvas = Canvas(figsize=(_INCHES, 3.1 + 0.2 * len(curves)), layout="constrained")
    axes = canvas.subplots()
    if level is not None:
        axes.axhline(level, color=mpl.rcParams["grid.color"], linestyle=":", linewidth=1.2)
    if ticks:
        axes.set_xticks(range(len(ticks)), ticks)
        axes.set_xlim(-0.4, len(ticks) - 0.6)
    beside = [curve for curve in curves if curve[1] != GREY]
    for curve in curves:
        # shift whiskers so that they do not overlap; references stay in place
        is_shifted = ticks and curve[1] != GREY
        shift = (beside.index(curve) - (len(beside) - 1) / 2) * 0.07 if is_shifted else 0.0
        _draw_curve(axes, curve, shift)
    if scale:
        scale(axes.yaxis)
    axes.grid(axis="y")
    axes.set(xlabel=labels[0], ylabel=labels[1])
    canvas.legend(loc="outside lower left", ncols=1)
    return canvas


def draw_reliability(curves: Sequence[Curve]) -> Canvas:
    """Draw a reliability diagram and return the matplotlib figure.

    Each curve has the mean belief of each bin as x, and its share of correct patches as y. Calibrated beliefs lie on
    the diagonal.
    """
    canvas = draw_curves(curves, ("mean belief", "share that is correct"))
    (axes,) = canvas.axes
    grey = mpl.rcParams["grid.color"]
    axes.plot([0, 1], [0, 1], color=grey, linestyle=":", linewidth=1.2, zorder=1.9)  # behind
    show_shares(axes.xaxis)
    return canvas


def _draw_curve(axes: Axes, curve: Curve, shift: float) -> None:
    label, colour, points = curve
    points = [(x, estimate) for x, estimate in points if estimate.value is not None]
    xs = [x + shift for x, _ in points]
    values, lows, highs = _to_floats([estimate for _, estimate in points])
    look = _choose_look(colour)
    if colour == GREY:
        look |= {"marker": "", "linestyle": _GREY_DASHES.get(label, ":")}
    else:
        look |= {"linestyle": _DASHES[colour // 7 % 4]}  # there are seven colours
        look |= {"marker": ""} if len(points) > _MOST_MARKED else {}
        axes.vlines(xs, lows, highs, colors=look["color"], linewidth=1.4)
    axes.plot(xs, values, label=_shorten(label), linewidth=1.3, **look)


def _shorten(label: str) -> str:
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…"


def _wrap(label: str) -> str:
    """Wrap a label to at most two lines."""
    return fill(label, width=_LONGEST // 2, max_lines=2, placeholder="…")
