"""Figures as PNG, by matplotlib: what `content.py` describes, once for a light page and once for a dark one."""

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal

import matplotlib as mpl
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, NullFormatter, PercentFormatter

from model.evaluation.bootstrap import Estimate
from model.evaluation.report.content import GREY, Curve, Curves, Dots, Panel, Scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Drawn as wide as a phone shows it, and with twice the pixels: text stays as large as the page's.
_INCHES, _DOTS_PER_INCH = 4.6, 180
_ROW, _MARGIN = 0.28, 0.85
_LONGEST = 48
"""Characters of a name in a legend; half of it on a line beside an axis."""


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours that people without red, green or blue sight can tell apart (Okabe and Ito), on paper or on a screen at night."""

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
"""A curve of more points is a line without markers."""
_DASHES = ("-", "--", ":", "-.")
_GREY_DASHES = {"oracle": "--", "majority": "-."}
_REFERENCES = ((0, (5, 2)), (0, (1, 1.5)), (0, (4, 1.5, 1, 1.5)))


def png(drawing: Dots | Curves, theme: Theme) -> bytes:
    """The file's bytes."""
    with mpl.rc_context(_style(theme)):
        canvas = _dots(drawing, theme) if isinstance(drawing, Dots) else curves(drawing, theme)
        out = BytesIO()
        canvas.savefig(out, format="png", metadata={"Software": None})
        return out.getvalue()


def _style(theme: Theme) -> dict[Any, Any]:
    return {
        "text.parse_math": False,  # a name with dollar signs is a name
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


def _dots(drawing: Dots, theme: Theme) -> Canvas:
    each = max((len(row.marks) for panel in drawing.panels for row in panel.rows), default=1)
    row = _ROW * max(1.0, 0.55 * each)
    heights = [row * len(panel.rows) + _MARGIN for panel in drawing.panels]
    legend = 0.2 * len(drawing.legend)
    canvas = Canvas(figsize=(_INCHES, sum(heights) + legend + 0.1), layout="constrained")
    axes = canvas.subplots(len(heights), squeeze=False, height_ratios=heights, sharex=True)
    for at, panel in enumerate(drawing.panels):
        _panel(axes[at, 0], panel, drawing, theme)
    handles = [
        axes[0, 0].plot([], [], label=_short(label), **_look(colour, theme))[0]
        for colour, label in drawing.legend
    ]
    if handles:
        canvas.legend(handles=handles, loc="outside lower left", ncols=1)
    return canvas


def _panel(axes: "Axes", panel: Panel, drawing: Dots, theme: Theme) -> None:
    for at, row in enumerate(panel.rows):
        for place, mark in enumerate(row.marks):
            shift = (place - (len(row.marks) - 1) / 2) * 0.7 / max(len(row.marks), 1)
            _whisker(axes, mark.estimate, at + shift, _look(mark.colour, theme))
    for at, line in enumerate(panel.lines):
        label = f"{line.label}: {_value(line.value, drawing)}" if line.label else None
        axes.axvline(
            line.value, color=theme.faint, linestyle=_REFERENCES[at % 3], linewidth=1.2, label=label
        )
    if any(line.label for line in panel.lines):
        below = -0.3 if drawing.scale is Scale.DIFFERENCE else -0.12  # of the axis' own words
        axes.legend(loc="upper left", bbox_to_anchor=(0, below), ncols=1)
    axes.set_title(panel.title)
    axes.set_yticks(range(len(panel.rows)), [_wrapped(row.label) for row in panel.rows])
    axes.set_ylim(len(panel.rows) - 0.4, -0.6)
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelbottom=True)
    _scaled(axes, "x", drawing.scale)


def _scaled(axes: "Axes", direction: Literal["x", "y"], scale: Scale) -> None:
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


def _value(value: float, drawing: Dots) -> str:
    if drawing.scale is Scale.DIFFERENCE:
        return f"{100 * value:+.3g}"
    return f"{value:g} s" if drawing.scale is Scale.SECONDS else f"{value:.1%}"


def _whisker(axes: "Axes", one: Estimate, y: float, look: dict[str, object]) -> None:
    if one.value is None:
        return
    axes.plot([one.value], [y], **look)  # type: ignore[arg-type]
    if one.low is not None and one.high is not None:
        axes.hlines(y, one.low, one.high, colors=str(look["color"]), linewidth=1.6)


def _look(colour: int, theme: Theme) -> dict[str, object]:
    """A colour and a shape; neither alone has to tell."""
    if colour == GREY:
        return {"color": theme.faint, "marker": "|", "linestyle": "none", "markersize": 9}
    return {
        "color": theme.colours[colour % len(theme.colours)],
        "marker": _MARKERS[colour % len(_MARKERS)],
        "linestyle": "none",
        "markersize": 5.5,
    }


def curves(drawing: Curves, theme: Theme) -> Canvas:
    """One panel, its legend below."""
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
        # whiskers stand beside each other, references where they are
        moved = drawing.ticks and curve.colour != GREY
        shift = (beside.index(curve) - (len(beside) - 1) / 2) * 0.07 if moved else 0.0
        _curve(axes, curve, shift, theme)
    _scaled(axes, "y", drawing.scale)
    axes.grid(axis="y")
    axes.set_xlabel(drawing.x_label)
    axes.set_ylabel(drawing.y_label)
    canvas.legend(loc="outside lower left", ncols=1)
    return canvas


def _curve(axes: "Axes", curve: Curve, shift: float, theme: Theme) -> None:
    known: Sequence[tuple[float, Estimate]] = [
        (at + shift, one) for at, one in curve.points if one.value is not None
    ]
    look = _look(curve.colour, theme)
    if curve.colour == GREY:
        look |= {"marker": "", "linestyle": _GREY_DASHES.get(curve.label, ":")}
    else:
        look |= {"linestyle": _DASHES[curve.colour // len(theme.colours) % 4]}
        look |= {"marker": ""} if len(known) > _MOST_MARKED else {}
    xs, ys = [at for at, _ in known], [one.value for _, one in known]
    axes.plot(xs, ys, label=_short(curve.label), linewidth=1.3, **look)  # type: ignore[arg-type]
    if curve.colour != GREY:
        for at, one in known:
            if one.low is not None and one.high is not None:
                axes.vlines(at, one.low, one.high, colors=str(look["color"]), linewidth=1.4)


def _short(label: str) -> str:
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…"


def _wrapped(label: str) -> str:
    """Two lines at most."""
    return fill(label, width=_LONGEST // 2, max_lines=2, placeholder="…")
