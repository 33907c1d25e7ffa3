"""Render a report as one HTML file without scripts and without remote content, with a PNG per figure.

Run files may hold untrusted names. The template engine escapes all text, and a content security policy allows
only embedded pictures and the page's own style sheet.
"""

import hashlib
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

import jinja2

from model.evaluation.report.content import Report
from model.evaluation.report.drawing import DARK, LIGHT, draw_png

PAGE = "report.html"
"""File name of the page."""


def render_page(report: Report, pictures: Mapping[str, tuple[bytes, bytes]]) -> str:
    """Render a report as the text of an HTML page.

    `pictures` has, by figure name, two PNG files as bytes: the first for a light screen, the second for a dark one.
    """
    style = _read("report.css")
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'"
    return _load_template().render(report=report, style=style, policy=policy, pictures=pictures)


def _embed(content: bytes) -> str:
    return f"data:image/png;base64,{b64encode(content).decode()}"


def _read(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


@cache
def _load_template() -> jinja2.Template:
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    # browsers do not unescape the content of <style>, and the style sheet is trusted
    environment.filters["embed"] = _embed
    environment.filters["ours"] = jinja2.filters.do_mark_safe
    return environment.from_string(_read("report.html.j2"))


def write_report(report: Report, folder: Path) -> int:
    """Draw a report's figures, and write an HTML page and one PNG file per figure to a folder.

    Returns the number of figures. Raises OSError.
    """
    pictures = {
        figure.name: (draw_png(figure.draw, LIGHT), draw_png(figure.draw, DARK))
        for section in report.sections
        for figure in section.figures
    }
    for name, (light, _) in pictures.items():
        (folder / f"{name}.png").write_bytes(light)
    (folder / PAGE).write_text(render_page(report, pictures), encoding="utf-8")
    return len(pictures)
