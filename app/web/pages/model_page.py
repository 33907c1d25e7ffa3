"""The page of one trained model, for operators: what the gate found, the numbers beside the champion, and the curve."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from app.db.store.models import models
from app.db.store.models.models import UnknownModel
from app.web.pages.access import Viewer
from app.web.pages.model_change import require_operator
from app.web.pages.page_endpoints import PageMissing, Site
from app.web.pages.rendering import render_page

LEFT, TOP, WIDTH, HEIGHT = 40.0, 10.0, 200.0, 120.0
"""The area of the curve in the chart, in its own units."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The numbers of a model and of the champion on one set of groups, as `r4p train evaluate` measured them."""

    name: str
    issues: int
    rows: tuple[tuple[str, str, str, str], ...]
    """Metric; model; champion; difference with its 95 % interval."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A metric of the training by step, with the line that shows it."""

    metric: str
    points: tuple[tuple[int, float], ...]
    line: str
    """Points of an SVG polyline."""
    least: float
    most: float


def show_model(site: Site, viewer: Viewer, request: Request) -> Response:
    """Show the gate's findings on one trained model, its numbers and the curve of its training."""
    require_operator(viewer)
    with site.database.connect() as connection:
        try:
            model = models.find_by_name(connection, request.path_params["name"])
        except UnknownModel as error:
            raise PageMissing from error
    evaluation = model.evaluation or {}
    values = {
        "viewer": viewer,
        "model": model,
        "findings": model.gate.get("findings") or (),
        "comparisons": [read_comparison(each) for each in evaluation.get("compared") or ()],
        "curve": read_curve(evaluation.get("curve")),
        "area": (LEFT, TOP, WIDTH, HEIGHT),
    }
    return render_page("model.html.j2", values)


def read_comparison(document: Mapping[str, Any]) -> Comparison:
    """Read one set of groups from an `r4p.evaluation/1` document (pure)."""
    candidate, champion, difference = (
        document[side] for side in ("candidate", "champion", "difference")
    )
    rows = tuple(
        (
            name,
            _format(candidate[name]["value"], ""),
            _format(champion[name]["value"], ""),
            _format_difference(difference[name]),
        )
        for name in sorted(candidate)
        if name in champion and name in difference
    )
    return Comparison(document["name"], document["issues"], rows)


def read_curve(document: Mapping[str, Any] | None) -> Curve | None:
    """Read the curve of a training, and draw it (pure). None for a model that was measured without one."""
    points = tuple((point["step"], point["value"]) for point in (document or {}).get("points", ()))
    if document is None or len(points) < 2:
        return None
    steps, values = zip(*points, strict=True)
    least, most = min(values), max(values)
    line = " ".join(
        f"{_scale(step, steps[0], steps[-1], LEFT, WIDTH):.1f},"
        f"{_scale(value, most, least, TOP, HEIGHT):.1f}"
        for step, value in points
    )
    return Curve(document["metric"], points, line, least, most)


def _scale(value: float, first: float, last: float, start: float, length: float) -> float:
    """Map `first` … `last` to `start` … `start + length`; the middle if both are equal."""
    share = 0.5 if first == last else (value - first) / (last - first)
    return start + length * share


def _format(value: float | None, sign: str) -> str:
    return "unknown" if value is None else f"{value:{sign}.3f}"


def _format_difference(estimate: Mapping[str, float | None]) -> str:
    value, low, high = (estimate[key] for key in ("value", "low", "high"))
    if low is None or high is None:
        return _format(value, "+")
    return f"{_format(value, '+')} ({low:+.3f} to {high:+.3f})"
