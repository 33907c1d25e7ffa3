"""A list whose entries move while it is read is read without a gap."""

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from app.github.api.rest_reader import ChangePage
from worker.repositories.change_list import read_changes

SIZE = 3
START = datetime(2030, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Entry:
    number: int
    updated_at: datetime


class MovingList:
    """A list as GitHub shows it; entries change after each page that is read."""

    def __init__(self, seconds, *, chance=0.0, seed=0):
        self.moments = {k: START + timedelta(seconds=second) for k, second in enumerate(seconds)}
        self.now = START + timedelta(hours=1)
        self.random, self.chance, self.pages = random.Random(seed), chance, 0

    def read(self, since, page):
        self.pages += 1
        assert self.pages < 1_000
        listed = sorted((at, number) for number, at in self.moments.items() if at >= since)
        shown = listed[(page - 1) * SIZE : page * SIZE]
        self._move()
        entries = tuple(Entry(number, at) for at, number in shown)
        return ChangePage(entries, shown[-1][0] if shown else None, len(shown) == SIZE)

    def _move(self):
        for number in self.moments:
            if self.random.random() < self.chance:
                self.now += timedelta(seconds=1)
                self.moments[number] = self.now


@pytest.mark.parametrize("seed", range(200))
def test_no_entry_is_skipped_while_entries_move_and_share_their_second(seed):
    seconds = [k * (seed % 3) // 4 for k in range(30)]
    moving = MovingList(seconds, chance=0.04, seed=seed)
    changes = read_changes(moving.read, START, most_pages=300)
    assert {entry.number for entry in changes.entries} == set(range(30))
    assert changes.read_until is None


def test_a_reading_that_ends_early_goes_on_without_a_gap_and_behind_a_crowded_second():
    moving = MovingList([0, 1, 1, *[5] * 20, 6, 7, 8, 9])
    found, since, ends = set(), START, []
    while since is not None:
        changes = read_changes(moving.read, since, most_pages=2)
        found |= {entry.number for entry in changes.entries}
        since = changes.read_until
        ends.append(since)
    assert found == set(moving.moments)
    assert ends[:-1] == sorted(set(ends[:-1]))
