"""The checklist of an issue is written from the code in a sandbox, once for each issue text and base, and kept."""

import json
import threading
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import func, select, update

from app.db.session import transaction
from app.db.store.issues import evaluations, retention
from app.db.store.queue import jobs
from app.db.store.queue.installation_controls import InstallationPaused
from app.db.tables.schema import evaluations as evaluation_table
from app.db.tables.schema import jobs as job_table
from app.db.tables.schema import rubrics, votes
from app.jobs.job import Planned, VerifyGroup
from model import catalog
from model.engines.scripted import ScriptLine
from tests.builders.job_attempts import carry_out, waiting
from tests.builders.worker_scene import area
from tests.model.agents.builders import build_step, script_call
from tests.model.fake_engines import RecordingEngine
from worker.agents.agent_process import AgentFailed
from worker.git.tree_export import ExportLimits
from worker.judging.base_code import CodeSource
from worker.judging.rubric_writer import RubricWriter
from worker.judging.trained_models import JudgeSetup
from worker.judging.verify import VerifyGroupHandler
from worker.queue.context import Context

pytestmark = pytest.mark.services

FROM_CODE = [{"kind": "file_change", "weight": 2, "text": "only `area` changes"}]
FROM_ISSUE = [{"kind": "specification", "weight": 3, "text": "the area is a product"}]
LOOK = replace(
    script_call("search_tool", construct="function", entity="area"), when="Several people"
)
HAND_IN = replace(script_call("submit_checklist", lines=FROM_CODE), when="return w + h")
TALK = ScriptLine(when="submit_checklist", reply="Hm.", repeat=True)
WRITE = ScriptLine(when="Write the checklist", reply=json.dumps(FROM_ISSUE), repeat=True)
GRADE = (
    ScriptLine(when="w * h", reply="1: MET - it multiplies", repeat=True),
    ScriptLine(when="w - h", reply="1: NOT MET - it subtracts", repeat=True),
)
CODE, ISSUE = "the issue and the code", "the issue alone"


class RubricJudge:
    """The judge `rubric` of a scene, and what its engine was asked."""

    def __init__(self, scene, *lines, verifier="rubric", **options):
        self.scene, self.verifier = scene, verifier
        self.engine, self.paused = RecordingEngine(*lines), threading.Event()
        writer = RubricWriter(self.engine, **options)
        source = CodeSource(scene.trees, self.build, verifier != "rubric", writer)
        self.setup = JudgeSetup(verifier, self.build(None), code=source)

    def build(self, readers):
        prompt = None if self.verifier == "rubric" else "r4p_group_v2"
        return catalog.load_verifier(self.verifier, self.engine, prompt=prompt, readers=readers)

    def collect(self, **options):
        """Collect the scene's group; return the job that judges it."""
        handler = self.scene.collecting(reads_code=True, **options)
        carry_out(self.scene.database, handler, self.scene.want_evaluation())
        return [job for job in waiting(self.scene.database) if isinstance(job, VerifyGroup)][-1]

    def judge(self, **options):
        """Collect the scene's group and judge it; return its evaluation."""
        return self.judge_collected(self.collect(**options))

    def judge_collected(self, job):
        """Judge a collected group; return its evaluation."""
        carry_out(self.scene.database, VerifyGroupHandler(lambda: self.setup), job)
        with transaction(self.scene.database) as connection:
            return evaluations.load(connection, job.evaluation)

    def count_written(self):
        """How many conversations about a new checklist began."""
        opening = ("Several people", "Write the checklist")
        shown = [
            "\n".join(message.content for message in request.messages)
            for request in self.engine.requests
            if len(request.messages) == 2
        ]
        return sum(any(words in text for words in opening) for text in shown)


def list_lines(evaluation):
    return [line["line"]["text"] for line in evaluation.verdict["patches"][0]["rubric"]]


def list_kept(scene):
    """The evaluations with a kept checklist, each with what its writer read."""
    with transaction(scene.database) as connection:
        rows = select(rubrics.c.evaluation_id, rubrics.c.document["grounds"].astext)
        return [tuple(row) for row in connection.execute(rows.order_by(rubrics.c.evaluation_id))]


def test_agent_reads_the_base_in_a_sandbox_and_its_checklist_grades_the_rivals(bubblewrap, scene):
    scene.begin("w * h", "w - h")
    judge = RubricJudge(scene, LOOK, HAND_IN, *GRADE)
    evaluation = judge.judge()
    good, bad = evaluation.verdict["patches"]
    assert (good["score"], bad["score"]) == (1, 0)
    assert bad["reason"] == (
        f"Meets 0 of 1 lines of a checklist written from {CODE}. "
        "Not met: only `area` changes (it subtracts)"
    )
    assert "return w + h" in judge.engine.requests[1].messages[-1].content
    agent = [
        message.content for request in judge.engine.requests[:2] for message in request.messages
    ]
    assert not any("w * h" in text for text in agent)
    assert "code" not in evaluation.verdict
    assert list_kept(scene) == [(evaluation.id, CODE)]
    assert scene.trees.find(evaluation.id) is None


def test_tokens_of_the_agent_count_in_the_verdict(bubblewrap, scene):
    scene.begin("w * h", "w - h")
    judge = RubricJudge(scene, LOOK, HAND_IN, *GRADE)
    written = judge.judge().verdict["tokens"]
    scene.repo.push(scene.pulls[1], files=area("w - h - 1"))
    kept = RubricJudge(scene, *GRADE).judge().verdict["tokens"]
    assert written["prompt"] > kept["prompt"] + 500


def test_later_evaluation_of_an_unchanged_issue_and_base_writes_no_checklist(bubblewrap, scene):
    scene.begin("w * h", "w - h")
    first = RubricJudge(scene, LOOK, HAND_IN, *GRADE).judge()
    scene.repo.push(scene.pulls[0], files=area("w * h + 0"))
    again = RubricJudge(scene, *GRADE)
    job = again.collect()
    scene.trees.discard(job.evaluation)  # the kept checklist needs no tree
    second = again.judge_collected(job)
    assert (second.id != first.id, again.count_written()) == (True, 0)
    assert list_lines(second) == list_lines(first) == ["only `area` changes"]
    assert list_kept(scene) == [(first.id, CODE)]
    assert second.tree_base == first.tree_base == scene.repo.pull(scene.pulls[0]).base_sha


def move_base(scene):
    scene.repo.commit({"more.py": "x = 1\n"})
    scene.repo.push(scene.pulls[0], files=area("w * h + 0"), force=True)


def edit_issue(scene):
    scene.repo.edit_issue(scene.issue, body="It adds, and should multiply.")


@pytest.mark.parametrize("change", [move_base, edit_issue])
def test_another_base_or_issue_text_gets_a_checklist_of_its_own(bubblewrap, scene, change):
    scene.begin("w * h", "w - h")
    first = RubricJudge(scene, LOOK, HAND_IN, *GRADE).judge()
    change(scene)
    again = RubricJudge(scene, LOOK, HAND_IN, *GRADE)
    second = again.judge()
    assert again.count_written() == 1
    assert list_kept(scene) == [(first.id, CODE), (second.id, CODE)]


def test_another_model_gets_a_checklist_of_its_own(bubblewrap, scene, monkeypatch):
    scene.begin("w * h", "w - h")
    RubricJudge(scene, LOOK, HAND_IN, *GRADE).judge()
    scene.repo.push(scene.pulls[0], files=area("w * h + 0"))
    monkeypatch.setattr(RecordingEngine, "model", "another")
    again = RubricJudge(scene, LOOK, HAND_IN, *GRADE)
    again.judge()
    assert again.count_written() == 1


def test_agent_that_hands_nothing_in_leaves_the_issue_alone_and_is_asked_again(bubblewrap, scene):
    scene.begin("w * h", "w - h")
    first = RubricJudge(scene, TALK, WRITE, *GRADE).judge()
    assert f"written from {ISSUE}" in first.verdict["patches"][0]["reason"]
    assert list_kept(scene) == [(first.id, ISSUE)]
    scene.repo.push(scene.pulls[0], files=area("w * h + 0"))
    again = RubricJudge(scene, TALK, *GRADE)
    assert list_lines(again.judge()) == ["the area is a product"]
    assert again.count_written() == 1  # by the agent, and not from the issue alone


def test_without_a_tree_the_checklist_comes_from_the_issue(scene):
    scene.begin("w * h", "w - h")
    evaluation = RubricJudge(scene, WRITE, *GRADE).judge(limits=ExportLimits(files=0))
    assert f"written from {ISSUE}" in evaluation.verdict["patches"][0]["reason"]
    assert list_kept(scene) == [(evaluation.id, ISSUE)]


@pytest.mark.parametrize("reply", ["I cannot help.", "[]", '[{"kind": "runtime"}]'])
def test_unreadable_checklist_is_no_vote_and_is_not_kept(scene, reply):
    scene.begin("w * h", "w - h")
    judge = RubricJudge(scene, replace(WRITE, reply=reply), *GRADE)
    evaluation = judge.judge(limits=ExportLimits(files=0))
    patches = evaluation.verdict["patches"]
    assert [(patch["verdict"], patch.get("score")) for patch in patches] == [("unsure", None)] * 2
    assert list_kept(scene) == []
    with transaction(scene.database) as connection:
        assert connection.scalar(select(func.count()).select_from(votes)) == 0


def fail(*_arguments, **_options):
    raise AgentFailed("the agent's process ended (exit 1)")


def test_agent_that_fails_is_logged_and_the_issue_is_enough(scene, caplog):
    scene.begin("w * h", "w - h")
    evaluation = RubricJudge(scene, WRITE, *GRADE, run_agent=fail).judge()
    assert list_kept(scene) == [(evaluation.id, ISSUE)]
    assert "the agent's process ended (exit 1)" in caplog.text


def carry_out_with(scene, judge, job, **changes):
    """Carry out an attempt at the job with changed facts about the claim."""
    with transaction(scene.database) as connection:
        (stored,) = jobs.enqueue(connection, [Planned(job)])
    claimed = replace(jobs.claim(scene.database, stored.id, 60), **changes)
    context = Context(scene.database, claimed, threading.Event(), lambda: False, judge.paused)
    VerifyGroupHandler(lambda: judge.setup)(context, job)


def test_second_attempt_at_the_job_runs_no_agent(scene):
    scene.begin("w * h", "w - h")
    ran = []
    judge = RubricJudge(scene, WRITE, *GRADE, run_agent=lambda *_, **__: ran.append(1))
    job = judge.collect()
    carry_out_with(scene, judge, job, attempt=2)
    assert (ran, list_kept(scene)) == ([], [(job.evaluation, ISSUE)])


def test_paused_installation_stops_the_agent_after_its_step(scene):
    scene.begin("w * h", "w - h")

    def run(*_arguments, on_step, **_options):
        judge.paused.set()
        on_step(0, build_step())

    judge = RubricJudge(scene, WRITE, *GRADE, run_agent=run)
    with pytest.raises(InstallationPaused):
        carry_out_with(scene, judge, judge.collect())
    assert list_kept(scene) == []


def test_progress_names_the_step(scene):
    scene.begin("w * h", "w - h")
    seen = []

    def run(*_arguments, on_step, **_options):
        for _ in range(2):
            on_step(0, build_step())
            with transaction(scene.database) as connection:
                seen.extend(connection.scalars(select(job_table.c.progress)).all())
        raise AgentFailed("that was all")

    RubricJudge(scene, WRITE, *GRADE, run_agent=run).judge()
    assert [text for text in seen if text] == ["checklist, step 1", "checklist, step 2"]


@pytest.mark.parametrize(
    "document",
    [[], {"schema": "r4p.rubric/1"}, {"schema": "x", "grounds": CODE, "lines": FROM_CODE}],
)
def test_stored_document_that_is_no_checklist_counts_as_missing(scene, document):
    scene.begin("w * h", "w - h")
    RubricJudge(scene, WRITE, *GRADE, run_agent=fail).judge()
    with transaction(scene.database) as connection:
        connection.execute(update(rubrics).values(document=document))
    for result in ("w * h + 1", "w * h + 2"):
        scene.repo.push(scene.pulls[0], files=area(result))
        again = RubricJudge(scene, WRITE, *GRADE, run_agent=fail)
        evaluation = again.judge()
        assert list_lines(evaluation) == ["the area is a product"]
    assert again.count_written() == 0
    assert len(list_kept(scene)) == 2


def test_checklist_ends_with_its_evaluation(scene):
    scene.begin("w * h", "w - h")
    RubricJudge(scene, WRITE, *GRADE, run_agent=fail).judge()
    old = func.now() - timedelta(days=31)
    with transaction(scene.database) as connection:
        connection.execute(update(evaluation_table).values(created_at=old))
        assert retention.delete_old_evaluations(connection, 30, 10) == 1
    assert list_kept(scene) == []


def test_hybrid_reads_code_for_the_checklist_and_for_the_prompt(bubblewrap, scene):
    scene.begin("w * h", "w - h")
    box = ScriptLine(when="<patch-base>", box_containing=("w * h",), repeat=True)
    judge = RubricJudge(scene, LOOK, HAND_IN, box, *GRADE, verifier="hybrid:rubric+r4p")
    evaluation = judge.judge()
    assert evaluation.verdict["code"] == {"definitions": 1}
    assert list_kept(scene) == [(evaluation.id, CODE)]
