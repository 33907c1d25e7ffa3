"""Reads the table that `r4p verify` prints."""

import re


def read_table(output: str) -> tuple[list[str], list[list[str]]]:
    """Return the headings and the rows of the first table in `output`."""
    lines = output.splitlines()
    rule = next(index for index, line in enumerate(lines) if set(line.strip()) == {"─"})
    headings = _split(lines[rule - 1])
    rows = []
    for line in lines[rule + 1 :]:
        cells = _split(line)
        if len(cells) != len(headings):
            break
        rows.append(cells)
    return headings, rows


def _split(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.strip())
