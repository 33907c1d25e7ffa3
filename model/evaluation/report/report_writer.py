"""Write a report to a folder: the page, and one PNG per figure."""

from pathlib import Path

from model.evaluation.report.content import Report
from model.evaluation.report.drawing import DARK, LIGHT, draw_png
from model.evaluation.report.html_page import Picture, render_page

PAGE = "report.html"
"""File name of the page."""


def write_report(report: Report, folder: Path) -> int:
    """Draw and write a report. Returns the number of figures. Raises OSError."""
    pictures = {
        figure.name: Picture(draw_png(figure.drawing, LIGHT), draw_png(figure.drawing, DARK))
        for section in report.sections
        for figure in section.figures
    }
    for name, picture in pictures.items():
        (folder / f"{name}.png").write_bytes(picture.light)
    (folder / PAGE).write_text(render_page(report, pictures), encoding="utf-8")
    return len(pictures)
