"""Draw figures as PNG with matplotlib, for a light and a dark page."""

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal

import matplotlib as mpl
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, NullFormatter, PercentFormatter

from model.evaluation.bootstrap import Estimate
from model.evaluation.report.content import GREY, Curve, Curves, DotPlot, Panel, Scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The width of a phone at twice the pixels, so that text is as large as on the page.
_INCHES, _DOTS_PER_INCH = 4.6, 180
_ROW, _MARGIN = 0.28, 0.85
_LONGEST = 48
"""Longest name in a legend, in characters. A label beside an axis has half of it per line."""


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours that colour-blind readers can tell apart (Okabe and Ito), for one background."""

    paper: str
    ink: str
    faint: str
    colours: tuple[str, ...]


LIGHT = Theme(
    "#ffffff",
    "#1f2328",
    "#767d86",
    ("#0072b2", "#d55e00", "#009e73", "#a8457f", "#b07800", "#2b8fc4", "#1f2328"),
)
DARK = Theme(
    "#15191f",
    "#e6e9ed",
    "#8d96a1",
    ("#56b4e9", "#f08030", "#2ec79b", "#e59ac5", "#f0c000", "#9fd4f5", "#e6e9ed"),
)
_MARKERS = "osD^vPX*"
_MOST_MARKED = 24
"""A curve with more points is drawn without markers."""
_DASHES = ("-", "--", ":", "-.")
_GREY_DASHES = {"oracle": "--", "majority": "-."}
_REFERENCES = ((0, (5, 2)), (0, (1, 1.5)), (0, (4, 1.5, 1, 1.5)))


def draw_png(drawing: DotPlot | Curves, theme: Theme) -> bytes:
    """Draw a figure and return the bytes of the PNG file."""
    with mpl.rc_context(_build_style(theme)):
        canvas = (
            _draw_dots(drawing, theme)
            if isinstance(drawing, DotPlot)
            else draw_curves(drawing, theme)
        )
        out = BytesIO()
        canvas.savefig(out, format="png", metadata={"Software": None})
        return out.getvalue()


def _build_style(theme: Theme) -> dict[Any, Any]:
    return {
        "text.parse_math": False,  # a name may contain dollar signs
        "font.family": "DejaVu Sans",
        "font.size": 9.5,
        "axes.titlesize": 10,
        "axes.titlelocation": "left",
        "axes.titleweight": "bold",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "grid.alpha": 0.25,
        "grid.color": theme.faint,
        "legend.frameon": False,
        "legend.fontsize": 8.5,
        "figure.facecolor": theme.paper,
        "figure.dpi": _DOTS_PER_INCH,
        "savefig.facecolor": theme.paper,
        "axes.facecolor": theme.paper,
        **dict.fromkeys(
            ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"),
            theme.ink,
        ),
    }


def _draw_dots(drawing: DotPlot, theme: Theme) -> Canvas:
    marks_per_row = max(
        (len(row.marks) for panel in drawing.panels for row in panel.rows), default=1
    )
    row = _ROW * max(1.0, 0.55 * marks_per_row)
    heights = [row * len(panel.rows) + _MARGIN for panel in drawing.panels]
    legend = 0.2 * len(drawing.legend)
    canvas = Canvas(figsize=(_INCHES, sum(heights) + legend + 0.1), layout="constrained")
    axes = canvas.subplots(len(heights), squeeze=False, height_ratios=heights, sharex=True)
    for index, panel in enumerate(drawing.panels):
        _draw_panel(axes[index, 0], panel, drawing, theme)
    handles = [
        axes[0, 0].plot([], [], label=_shorten(label), **_choose_look(colour, theme))[0]
        for colour, label in drawing.legend
    ]
    if handles:
        canvas.legend(handles=handles, loc="outside lower left", ncols=1)
    return canvas


def _draw_panel(axes: "Axes", panel: Panel, drawing: DotPlot, theme: Theme) -> None:
    for index, row in enumerate(panel.rows):
        for place, mark in enumerate(row.marks):
            shift = (place - (len(row.marks) - 1) / 2) * 0.7 / max(len(row.marks), 1)
            _draw_whisker(axes, mark.estimate, index + shift, _choose_look(mark.colour, theme))
    for index, line in enumerate(panel.lines):
        label = f"{line.label}: {_format_value(line.value, drawing)}" if line.label else None
        axes.axvline(
            line.value,
            color=theme.faint,
            linestyle=_REFERENCES[index % 3],
            linewidth=1.2,
            label=label,
        )
    if any(line.label for line in panel.lines):
        below = -0.3 if drawing.scale is Scale.DIFFERENCE else -0.12  # below the label of the axis
        axes.legend(loc="upper left", bbox_to_anchor=(0, below), ncols=1)
    axes.set_title(panel.title)
    axes.set_yticks(range(len(panel.rows)), [_wrap(row.label) for row in panel.rows])
    axes.set_ylim(len(panel.rows) - 0.4, -0.6)
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelbottom=True)
    _set_scale(axes, "x", drawing.scale)


def _set_scale(axes: "Axes", direction: Literal["x", "y"], scale: Scale) -> None:
    axis = axes.xaxis if direction == "x" else axes.yaxis
    if scale is Scale.SHARE:
        axis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        axes.set(**{f"{direction}lim": (-0.02, 1.02)})
    elif scale is Scale.PART:
        axis.set_major_formatter(PercentFormatter(1.0))
        _, top = axis.get_data_interval()
        axes.set(**{f"{direction}lim": (0, max(1.05 * top, 0.01))})
    elif scale is Scale.DIFFERENCE:
        axis.set_major_formatter(
            FuncFormatter(lambda value, _at: f"{100 * value:+.3g}" if value else "0")
        )
        if direction == "x":
            axis.set_label_text("percentage points")
    elif scale is Scale.SECONDS:
        axes.set(**{f"{direction}scale": "log"})
        axis.set_major_formatter(FuncFormatter(lambda value, _at: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def _format_value(value: float, drawing: DotPlot) -> str:
    if drawing.scale is Scale.DIFFERENCE:
        return f"{100 * value:+.3g}"
    return f"{value:g} s" if drawing.scale is Scale.SECONDS else f"{value:.1%}"


def _draw_whisker(axes: "Axes", estimate: Estimate, y: float, look: dict[str, object]) -> None:
    if estimate.value is None:
        return
    axes.plot([estimate.value], [y], **look)  # type: ignore[arg-type]
    if estimate.low is not None and estimate.high is not None:
        axes.hlines(y, estimate.low, estimate.high, colors=str(look["color"]), linewidth=1.6)


def _choose_look(colour: int, theme: Theme) -> dict[str, object]:
    """Choose colour and marker of a series. Either alone identifies it."""
    if colour == GREY:
        return {"color": theme.faint, "marker": "|", "linestyle": "none", "markersize": 9}
    return {
        "color": theme.colours[colour % len(theme.colours)],
        "marker": _MARKERS[colour % len(_MARKERS)],
        "linestyle": "none",
        "markersize": 5.5,
    }


def draw_curves(drawing: Curves, theme: Theme) -> Canvas:
    """Draw curves in one panel with the legend below."""
    # inches: one more line of legend per curve
    height = 3.1 + 0.2 * len(drawing.curves)
    canvas = Canvas(figsize=(_INCHES, height), layout="constrained")
    axes = canvas.subplots()
    if drawing.diagonal:
        axes.plot([0, 1], [0, 1], color=theme.faint, linestyle=":", linewidth=1.2)
        axes.set_xlim(-0.02, 1.02)
        axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    if drawing.level is not None:
        axes.axhline(drawing.level, color=theme.faint, linestyle=":", linewidth=1.2)
    if drawing.ticks:
        axes.set_xticks(range(len(drawing.ticks)), drawing.ticks)
        axes.set_xlim(-0.4, len(drawing.ticks) - 0.6)
    beside = [curve for curve in drawing.curves if curve.colour != GREY]
    for curve in drawing.curves:
        # shift whiskers so that they do not overlap; references stay in place
        moved = drawing.ticks and curve.colour != GREY
        shift = (beside.index(curve) - (len(beside) - 1) / 2) * 0.07 if moved else 0.0
        _draw_curve(axes, curve, shift, theme)
    _set_scale(axes, "y", drawing.scale)
    axes.grid(axis="y")
    axes.set_xlabel(drawing.x_label)
    axes.set_ylabel(drawing.y_label)
    canvas.legend(loc="outside lower left", ncols=1)
    return canvas


def _draw_curve(axes: "Axes", curve: Curve, shift: float, theme: Theme) -> None:
    points: Sequence[tuple[float, Estimate]] = [
        (index + shift, estimate) for index, estimate in curve.points if estimate.value is not None
    ]
    look = _choose_look(curve.colour, theme)
    if curve.colour == GREY:
        look |= {"marker": "", "linestyle": _GREY_DASHES.get(curve.label, ":")}
    else:
        look |= {"linestyle": _DASHES[curve.colour // len(theme.colours) % 4]}
        look |= {"marker": ""} if len(points) > _MOST_MARKED else {}
    xs, ys = [index for index, _ in points], [estimate.value for _, estimate in points]
    axes.plot(xs, ys, label=_shorten(curve.label), linewidth=1.3, **look)  # type: ignore[arg-type]
    if curve.colour != GREY:
        for index, estimate in points:
            if estimate.low is not None and estimate.high is not None:
                axes.vlines(
                    index, estimate.low, estimate.high, colors=str(look["color"]), linewidth=1.4
                )


def _shorten(label: str) -> str:
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…"


def _wrap(label: str) -> str:
    """Wrap a label to at most two lines."""
    return fill(label, width=_LONGEST // 2, max_lines=2, placeholder="…")
