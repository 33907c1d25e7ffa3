"""A report as files: the page, and a PNG for each of its figures."""

from pathlib import Path

from model.evaluation.report.content import Report
from model.evaluation.report.drawing import DARK, LIGHT, png
from model.evaluation.report.html_page import Picture, page

PAGE = "report.html"
"""Beside it stands a PNG for each figure."""


def write(report: Report, folder: Path) -> int:
    """Draw and write everything; how many figures there are. Raises OSError."""
    pictures = {
        figure.name: Picture(png(figure.drawing, LIGHT), png(figure.drawing, DARK))
        for section in report.sections
        for figure in section.figures
    }
    for name, picture in pictures.items():
        (folder / f"{name}.png").write_bytes(picture.light)
    (folder / PAGE).write_text(page(report, pictures), encoding="utf-8")
    return len(pictures)
