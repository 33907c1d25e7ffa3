"""Trees change hands in an instant, and lie no longer than somebody waits for them."""

import os

import pytest

from app.db.session import transaction
from app.db.store.alternatives import proposals
from app.values.identifiers import EvaluationId

ONE, OTHER = EvaluationId(7), EvaluationId(12)


def lay_down(trees, evaluation):
    made = trees.directory / "tree-under-way" / "tree"
    made.mkdir(parents=True)
    (made / "area.py").write_text("w * h\n")
    os.utime(made, (0, 0))
    trees.offer(made, evaluation)


def test_a_tree_is_found_until_it_is_discarded(trees):
    assert trees.find(ONE) is None
    lay_down(trees, ONE)
    assert (trees.find(ONE) / "area.py").read_text() == "w * h\n"
    assert trees.find(OTHER) is None
    for _ in range(2):
        trees.discard(ONE)
        assert trees.find(ONE) is None


def test_age_counts_from_when_it_was_handed_over_and_nothing_else_is_counted(trees):
    assert trees.list_older_than(0) == ()
    for evaluation in (OTHER, ONE):
        lay_down(trees, evaluation)
    (trees.directory / "ready-or-not").mkdir()
    assert trees.list_older_than(0) == (ONE, OTHER)
    assert trees.list_older_than(60) == ()
    old = trees.find(OTHER)
    os.utime(old, (0, 0))
    assert trees.list_older_than(60) == (OTHER,)


@pytest.mark.services
def test_a_tree_of_an_unknown_evaluation_is_not_awaited(database):
    with transaction(database) as connection:
        assert proposals.find_awaited(connection, [ONE, OTHER]) == frozenset()
        assert proposals.find_awaited(connection, []) == frozenset()
