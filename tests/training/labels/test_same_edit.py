"""Bringing a pull request's branch up to date is no help and no change, though its diff reads otherwise."""

import subprocess
from datetime import timedelta

import pytest

from app.db.session import transaction
from app.db.store.outcomes import history
from app.outcomes import EventKind
from model.domain import Verdict
from tests.builders.history import issue_history, stored_outcomes
from tests.builders.history.issue_history import BASE, MAINTAINER, MERGED, START
from training.labels import labels

pytestmark = pytest.mark.services

LINES = [f"line {at}" for at in range(30)]
FIXED = [*LINES[:20], "line twenty", *LINES[21:]]
ABOVE = ["licence", "author", ""]
"""What the default branch has got at the top of the same file meanwhile."""


@pytest.fixture
def write_diff(tmp_path):
    """The diff that git tells, as pull requests are read."""

    def diff(before, after):
        for name, lines in (("before", before), ("after", after)):
            (tmp_path / name).mkdir(exist_ok=True)
            (tmp_path / name / "a.py").write_text("\n".join(lines) + "\n")
        words = ["git", "diff", "--no-index", "--full-index", "--no-prefix", "before", "after"]
        labelled = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        return labelled.stdout.replace(" before/", " a/").replace(" after/", " b/")

    return diff


@pytest.fixture
def label_pushed(database, write_diff):
    """The labels of a pull request whose second state somebody else pushed, and its outcomes."""

    def happen(second, *, judged_on_day):
        with transaction(database) as connection:
            texts = {(MERGED, 1): write_diff(LINES, FIXED), (MERGED, 2): second}
            assert len(set(texts.values())) == 2
            life = issue_history.Life(connection, texts)
            group = life.settle()
            life.judge(group, {(MERGED, 1): Verdict.CORRECT}, day=0)
            life.happen(EventKind.HEAD_MOVED, MERGED, 1, nth=2, **MAINTAINER)
            life.judge(group, {(MERGED, 2): Verdict.CORRECT}, day=judged_on_day)
            life.happen(EventKind.PULL_MERGED, MERGED, 3, nth=2, base=BASE, **MAINTAINER)
            labelled = labels.label_patches(
                history.load_records(connection), START + timedelta(days=90)
            )
            rows = stored_outcomes.list_rows(connection, group)
            return [one.rule_name for one in labelled], {one.kind for one in rows}

    return happen


def test_updated_branch_carries_the_same_patch(label_pushed, write_diff):
    same = write_diff([*ABOVE, *LINES], [*ABOVE, *FIXED])
    whys, kinds = label_pushed(same, judged_on_day=2)
    assert whys == ["merged"]
    assert "merged" in kinds


def test_unjudged_merged_patch_is_compared_by_its_edit(label_pushed, write_diff):
    same = write_diff([*ABOVE, *LINES], [*ABOVE, *FIXED])
    whys, kinds = label_pushed(same, judged_on_day=4)
    assert whys == ["merged"]
    assert "merged_after_changes" not in kinds


def test_change_by_another_is_help(label_pushed, write_diff):
    better = write_diff([*ABOVE, *LINES], [*ABOVE, *FIXED[:20], "line 20, mended", *FIXED[21:]])
    whys, kinds = label_pushed(better, judged_on_day=4)
    assert whys == ["mended", "merged_with_help"]
    assert "merged_after_changes" in kinds
