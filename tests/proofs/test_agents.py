"""The proof itself, on a script and a small tree: what it counts is what happened."""

from model.agents.agentless.agentless_mini import AgentlessMini
from model.agents.agentless.sampling_plan import SamplingPlan
from model.agents.mini_se.mini_se import MiniSE
from model.domain import Issue
from tests.model.agents import agentless_replies
from tests.model.agents.builders import ISSUE, LOOK, MEND, SUBMIT, TREE
from tests.model.codegraph.builders import write_files
from tests.model.fake_engines import RecordingEngine
from tests.proofs import agents
from tests.proofs.gold import Fit
from tests.proofs.instances import Instance
from tests.proofs.trees import Chosen


def write_place(tmp_path, files, name="a__pie-1"):
    tree = tmp_path / "tree"
    write_files(tree, files)
    return Instance(name, "a/pie", ISSUE, ""), Chosen("1.0", tree, Fit(1, 1, 0))


def run_attempt(tmp_path, agent, files):
    kept = tmp_path / "kept"
    (row,) = agents._attempt_all([write_place(tmp_path, files)], agent, tmp_path / "index", kept)
    assert (kept / f"{agent.name}.a__pie-1.json").stat().st_size > 0
    return row


def test_conversation_is_counted_and_its_patch_is_checked(tmp_path):
    agent = MiniSE(RecordingEngine(LOOK, MEND, SUBMIT, context_tokens=32_768))
    row = run_attempt(tmp_path, agent, TREE)
    assert (row["stop"], row["rounds"], row["malformed"]) == ("submitted", 3, 0)
    assert (row["patch"], row["applies"], row["replays"]) == (True, True, True)
    assert row["calls"] == {"search_tool": 1, "edit_tool": 1, "patch_submission": 1}


def test_pipeline_is_counted_with_its_dropped_replies(tmp_path):
    replies = [
        agentless_replies.MATHS,
        agentless_replies.MEND,
        agentless_replies.repair_reply("x", old="not there"),
    ]
    engine = agentless_replies.CuttingEngine(*replies, context_tokens=32_768)
    row = run_attempt(
        tmp_path, AgentlessMini(engine, plan=SamplingPlan(1, 2)), agentless_replies.TREE
    )
    assert (row["stop"], row["rounds"], row["malformed"]) == ("submitted", 3, 1)
    assert (row["patch"], row["applies"], row["replays"]) == (True, True, True)
    assert sum(row["dropped"].values()) == 1


def test_attempt_without_a_patch_does_not_apply(tmp_path):
    row = run_attempt(tmp_path, MiniSE(RecordingEngine(LOOK, context_tokens=32_768)), TREE)
    assert (row["stop"], row["patch"], row["applies"]) == ("engine", False, False)


def test_git_decides_whether_a_patch_applies(tmp_path):
    _, choice = write_place(tmp_path, {"pie.py": "one\ntwo\n"})
    diff = "--- a/pie.py\n+++ b/pie.py\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
    assert agents.applies(diff, choice.tree)
    assert not agents.applies(diff.replace("-two", "-zwei"), choice.tree)
    assert (choice.tree / "pie.py").read_text() == "one\ntwo\n"


def test_projects_take_turns_from_their_middle():
    def of(repo, *numbers):
        return [Instance(f"x-{number}", repo, Issue("", ""), "") for number in numbers]

    mixed = [*of("b/tart", 30, 10, 20), *of("a/pie", 1)]
    assert [(one.repo, one.number) for one in agents.in_turns(mixed)] == [
        *(("a/pie", 1), ("b/tart", 20), ("b/tart", 10), ("b/tart", 30)),
    ]
