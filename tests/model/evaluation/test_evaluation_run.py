"""Groups judged at the same time come in order, each is kept when it is ready, and what came before a failure stays."""

import threading
from dataclasses import replace

import pytest

from model.errors import EngineDown
from model.evaluation import run_file
from model.evaluation.evaluation_run import judge_groups
from model.evaluation.labelled_group import read_groups
from tests.model.evaluation.builders import build_row, format_lines, make_judged_group

NAMES = [f"octo__app-{at}" for at in range(8)]
KEY = make_judged_group("any", (1, True)).key


class UnevenJudge:
    """The first three begin together, every second one ends after the next; from `dies` on the engine is dead."""

    def __init__(self, dies=99):
        self.dies, self.running, self.most = dies, 0, 0
        self.done = [threading.Event() for _ in NAMES]
        self.three = threading.Barrier(3)

    def key(self, group):
        return replace(KEY, group=group.id)

    def judge(self, group):
        at = NAMES.index(group.instance_id)
        if at >= self.dies:
            raise EngineDown("the engine is gone")
        self.running += 1
        if at < 3 and self.dies > len(NAMES):
            self.three.wait(30)
        self.most = max(self.most, self.running)
        if at % 2 == 0 and at + 1 < self.dies:
            self.done[at + 1].wait(30)
        self.running -= 1
        self.done[at].set()
        return replace(make_judged_group(group.instance_id, (1, True)), key=self.key(group))


@pytest.fixture
def groups(tmp_path):
    path = tmp_path / "groups.jsonl"
    path.write_text(format_lines(*(build_row(at, True) for at in range(8))))
    return list(read_groups(path))


def test_concurrent_groups_are_returned_in_order(groups, tmp_path):
    judge, progress = UnevenJudge(), []
    with run_file.open_run_file(tmp_path / "run.jsonl") as file:
        judged = judge_groups(groups, judge, file, progress.append, concurrency=3)
    assert [one.instance_id for one in judged] == NAMES
    assert [one.instance_id for one in run_file.read_run_file(tmp_path / "run.jsonl")] != NAMES
    assert run_file.read_sorted(tmp_path / "run.jsonl") == sorted(
        judged, key=lambda request: request.key.group
    )
    assert progress == list(range(1, 9))
    assert judge.most == 3


def test_groups_before_a_failure_are_kept_and_not_judged_again(groups, tmp_path):
    path = tmp_path / "run.jsonl"
    with run_file.open_run_file(path) as file, pytest.raises(EngineDown, match="gone"):
        judge_groups(groups, UnevenJudge(dies=5), file, concurrency=2)
    kept = [one.instance_id for one in run_file.read_run_file(path)]
    assert sorted(kept) == NAMES[:5]
    with run_file.open_run_file(path) as file:
        judged = judge_groups(groups, UnevenJudge(), file, concurrency=2)
    assert [one.instance_id for one in judged] == NAMES
    assert sorted(one.instance_id for one in run_file.read_run_file(path)) == NAMES
