"""Read one of GitHub's lists in the order of the last change, while its entries go on changing.

An entry that changes moves to the end of the list, and all entries after its old place slide towards the front. So page
numbers would skip entries. Each page is therefore page 1 of the list that begins at the last time that was read.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Generic, TypeVar

from app.github.api.rest_reader import ChangePage

Entry = TypeVar("Entry")
ListPage = Callable[[datetime, int], ChangePage[Entry]]
"""Returns a page of the entries that changed at a time or later: (time, page number from 1)."""
SECOND: Final = timedelta(seconds=1)
"""GitHub's times are whole seconds."""


@dataclass(frozen=True, slots=True)
class Changes(Generic[Entry]):
    """The entries of a list that changed. An entry that changed during the reading may be in it twice."""

    entries: tuple[Entry, ...]
    read_until: datetime | None
    """All changes up to here were read; None: all changes."""


def read_changes(list_page: ListPage[Entry], since: datetime, most_pages: int) -> Changes[Entry]:
    """Return the entries that changed at `since` or later, oldest change first.

    The function stops after `most_pages` (at least 2), except within one second.
    """
    start, entries = since.replace(microsecond=0), list[Entry]()
    for _ in range(most_pages):
        page = list_page(start, 1)
        entries += page.entries
        if page.last is None or not page.is_full:
            return Changes(tuple(entries), None)
        if page.last > start:
            start = page.last
        else:
            entries += _read_second(list_page, start)
            start += SECOND
    return Changes(tuple(entries), start - SECOND)


def _read_second(list_page: ListPage[Entry], start: datetime) -> list[Entry]:
    """Return the entries whose last change was in the second `start`, and perhaps some later ones."""
    number, page = 1, list_page(start, 1)
    while page.is_full and page.last == start:
        number += 1
        page = list_page(start, number)
    # Entries only leave this second, and the others slide to lower page numbers. Read from the end, none is skipped.
    return [entry for k in range(number, 0, -1) for entry in list_page(start, k).entries]
