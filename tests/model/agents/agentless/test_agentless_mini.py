"""Agentless Mini on real trees with real git and parsers, its model a script: every way to a patch, and to none."""

import json
from itertools import count

import pytest
from typer.testing import CliRunner

from app.cli import main
from model.agents import engine_deadline
from model.agents.agentless.agentless_mini import AgentlessMini
from model.agents.agentless.sampling_plan import SamplingPlan
from model.agents.trajectories.trajectory import AttemptLimits, StopReason
from model.engines.scripted import ScriptLine
from model.patches.diff import fingerprint
from model.reproduction.rerank import SelectedPatches
from tests.builders.attempt_replay import replay_attempt
from tests.model.agents.agentless_replies import (
    LOCATE,
    MATHS,
    MEND,
    REPAIR,
    ROUND,
    TREE,
    locate_reply,
    read_outcomes,
    repair_reply,
)
from tests.model.agents.builders import ISSUE, open_tool_context
from tests.model.codegraph.builders import write_files
from tests.model.fake_engines import HangingEngine


def test_most_frequent_patch_of_all_samples_is_submitted(pipeline):
    done, engine = pipeline(
        locate_reply("pie/maths.py"), locate_reply("pie/pie.py", "pie/maths.py"), ROUND, MEND, MEND
    )
    assert done.stop is StopReason.SUBMITTED
    assert done.patch.startswith("diff --git a/pie/maths.py b/pie/maths.py\n")
    assert "-    return n // 2\n+    return n / 2\n" in done.patch
    assert done.rounds == 5
    assert done.tokens.completion > 0
    assert [len(batch) for batch in engine.batches] == [2, 3]
    assert {request.temperature for request in engine.requests} == {1.0}
    assert len({request.seed for request in engine.requests}) == 5
    one, two, three = read_outcomes(done)
    assert one["files"] == three["files"] == ["pie/maths.py"]
    assert two["files"] == ["pie/pie.py", "pie/maths.py"]
    assert two["diff"] == three["diff"] == done.patch
    assert one["edits"] == [
        {
            "path": "pie/maths.py",
            "search": ["    return n // 2"],
            "replace": ["    return round(n / 2)"],
        }
    ]


def test_file_sets_take_turns_from_the_most_located_on(pipeline):
    done, _ = pipeline(
        locate_reply("pie/pie.py"),
        locate_reply("pie/maths.py"),
        locate_reply("pie/maths.py"),
        repair_reply("    return n / 2", repeat=True),
        plan=SamplingPlan(3, 5),
    )
    assert [one["files"][0][4:-3] for one in read_outcomes(done)] == [
        "maths", "pie", "maths", "pie", "maths",
    ]  # fmt: skip
    assert [one.get("dropped") for one in read_outcomes(done)] == [
        None, "unknown_file", None, "unknown_file", None,
    ]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), [(ROUND, MEND), (MEND, ROUND)])
def test_first_sampled_of_equally_frequent_patches_wins(pipeline, first, second):
    done, _ = pipeline(MATHS, first, second, second, first, plan=SamplingPlan(2, 4))
    assert done.patch == read_outcomes(done)[0]["diff"]
    assert len({one["diff"] for one in read_outcomes(done)}) == 2


def test_equal_edits_count_together(pipeline):
    wide = repair_reply("def half(n):\n    return n / 2", "def half(n):", reply="")
    whole = "### pie/maths.py\n<<<<<<< SEARCH\ndef half(n):\n    return n // 2\n=======\ndef half(n):\n    return n / 2\n>>>>>>> REPLACE"
    done, _ = pipeline(MATHS, ROUND, MEND, ScriptLine(when=wide.when, reply=whole))
    assert fingerprint(done.patch) == fingerprint(read_outcomes(done)[1]["diff"])
    assert "return n / 2" in done.patch


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (repair_reply("", reply="It can't be mended."), "no_edit"),
        (repair_reply("", reply="<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE"), "no_path"),
        (repair_reply("", reply="### pie/maths.py\n<<<<<<< SEARCH\nx"), "unfinished"),
        (repair_reply("", reply=">>>>>>> REPLACE"), "stray_marker"),
        (repair_reply("x", path="README.md"), "unknown_file"),
        (repair_reply("x", path="../../etc/passwd"), "unknown_file"),
        (repair_reply("x", "gone"), "not_found"),
        (repair_reply("x", ""), "ambiguous"),
        (repair_reply("    return n // 2"), "no_change"),
        (repair_reply("    return (n / 2"), "syntax"),
        (repair_reply("    n = n / 2\n  return n"), "syntax"),
        (repair_reply("    return n / 2  # half\rimport os"), "line_end"),
        (repair_reply("# " + "x" * 5_000_001), "workspace"),
        (repair_reply("", fail="too busy"), "engine"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_reply_without_a_patch_is_dropped_with_its_reason(pipeline, line, kind):
    done, _ = pipeline(MATHS, line, MEND, plan=SamplingPlan(1, 2))
    assert done.stop is StopReason.SUBMITTED
    bad, good = read_outcomes(done)
    assert bad["dropped"] == kind
    assert bad["why"]
    assert "dropped" not in good
    assert [step.malformed for step in done.trajectory.steps] == [False, kind != "engine", False]


def test_repairs_in_the_form_of_swe_rl_become_patches(pipeline):
    """The thought and the text around the solution hold edits too, and none of them counts."""
    done, engine = pipeline(
        MATHS,
        repair_reply("", reply=f"{MEND.reply}<think>\n{ROUND.reply}</think>\n{ROUND.reply}"),
        repair_reply(
            "", reply=f"<think>{ROUND.reply}</think><solution>{MEND.reply}</solution>{ROUND.reply}"
        ),
        plan=SamplingPlan(1, 2),
        repair_prompt="swe_rl_repair",
    )
    bad, good = read_outcomes(done)
    assert bad["dropped"] == "no_solution"
    assert good["diff"] == done.patch
    assert "+    return n / 2\n" in done.patch
    assert "</solution>\n\nWrite each" in engine.requests[-1].messages[0].content


def test_cut_reply_is_dropped_though_one_edit_is_whole(pipeline):
    done, _ = pipeline(MATHS, repair_reply("    return 0  # CUT"), MEND, plan=SamplingPlan(1, 2))
    assert read_outcomes(done)[0] == {
        "dropped": "unfinished",
        "why": "the reply was cut at its limit of tokens",
    }
    assert "return n / 2" in done.patch


def test_file_that_controls_automation_is_not_edited(pipeline):
    tree = TREE | {".github/run.py": "x = 1\n"}
    both = locate_reply(".github/run.py", "pie/maths.py")
    done, _ = pipeline(
        both,
        repair_reply("x = 2", "x = 1", ".github/run.py"),
        MEND,
        tree=tree,
        plan=SamplingPlan(1, 2),
    )
    bad, _ = read_outcomes(done)
    assert bad["dropped"] == "workspace"
    assert "controls automation, secrets or reviewers" in bad["why"]
    assert "github" not in done.patch


def test_attempt_without_a_usable_reply_stops_as_malformed(pipeline):
    done, _ = pipeline(MATHS, repair_reply("x", "gone", repeat=True))
    assert (done.stop, done.patch) == (StopReason.MALFORMED, None)
    assert done.rounds == 5


def test_located_paths_outside_the_tree_are_dropped_and_listed(pipeline):
    done, engine = pipeline(locate_reply("pie/math.py", "maths.py", repeat=True))
    assert (done.stop, done.patch) == (StopReason.MALFORMED, None)
    assert len(engine.requests) == 2
    assert (
        read_outcomes(done, "locate")
        == [
            {
                "paths": [],
                "unknown": ["pie/math.py", "maths.py"],
                "dropped": "no_file",
                "why": "no file of the tree is named",
            }
        ]
        * 2
    )


@pytest.mark.parametrize("stage", [LOCATE, REPAIR])
@pytest.mark.parametrize("how", [{"down": "gone"}, {"fail": "gone", "repeat": True}])
def test_failing_engine_stops_the_attempt_with_its_message(pipeline, stage, how):
    lines = [] if stage == LOCATE else [MATHS]
    done, _ = pipeline(*lines, ScriptLine(when=stage, **how))
    assert (done.stop, done.patch) == (StopReason.ENGINE, None)
    assert done.trajectory.failure == "gone"


def test_timeout_votes_on_the_patches_so_far(pipeline):
    ticks = count(0.0, 10.0)
    done, engine = pipeline(
        MATHS,
        MEND,
        MEND,
        plan=SamplingPlan(1, 5, batch=1),
        limits=AttemptLimits(seconds=25),
        clock=lambda: next(ticks),
    )
    assert done.stop is StopReason.SUBMITTED
    assert 1 < len(engine.requests) < 6


def test_timeout_before_any_patch_is_a_timeout(pipeline):
    ticks = count(0.0, 10.0)
    done, _ = pipeline(MATHS, limits=AttemptLimits(seconds=5), clock=lambda: next(ticks))
    assert (done.stop, done.patch) == (StopReason.TIMEOUT, None)


def test_hanging_engine_leaves_the_patches_so_far(pipeline):
    done, _ = pipeline(
        MATHS,
        MEND,
        repair_reply("    return n / 2", stall_seconds=30),
        plan=SamplingPlan(1, 3, batch=1),
        limits=AttemptLimits(seconds=1.5),
    )
    assert done.stop is StopReason.SUBMITTED
    good, late = read_outcomes(done)
    assert (late["dropped"], "dropped" in good) == ("late", False)
    assert done.seconds < 10


def test_batch_that_never_returns_is_a_timeout(tmp_path, monkeypatch):
    monkeypatch.setattr(engine_deadline, "GRACE_SECONDS", 0.1)
    with open_tool_context(tmp_path / "tree", TREE) as context:
        agent = AgentlessMini(HangingEngine(), limits=AttemptLimits(seconds=0.2))
        done = agent.propose(ISSUE, context, seed=0)
    assert (done.stop, done.patch) == (StopReason.TIMEOUT, None)
    assert {one["dropped"] for one in read_outcomes(done, "locate")} == {"late"}
    assert done.seconds < 5
    assert replay_attempt(done.trajectory, context) == done.trajectory


def test_filter_runs_before_the_vote(pipeline):
    seen = []

    def keep(candidates, tests):
        seen.extend(candidates)
        assert tests == []
        kept = tuple(one.id for one in candidates if "round" not in one.diff)
        return SelectedPatches(kept, {"unbroken": 2})

    script = [MATHS, ROUND, MEND, ROUND, repair_reply("    return n * 0.5")]
    done, _ = pipeline(*script, plan=SamplingPlan(1, 4), keep=keep)
    assert "return n / 2" in done.patch
    setting = json.loads(done.trajectory.setting)
    assert (setting["kept"], setting["execution"]) == (["sample-2", "sample-4"], {"unbroken": 2})
    assert len(seen) == 4
    done, _ = pipeline(*script, plan=SamplingPlan(1, 4), keep=lambda *_: SelectedPatches((), {}))
    assert (done.stop, done.patch) == (StopReason.NONE_KEPT, None)


def test_command_prints_its_patch_and_its_stages(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path / "tree", TREE)
    (tmp_path / "issue.md").write_text("# Halving is off\n")
    lines = [{"when": one.when, "reply": one.reply, "repeat": True} for one in (MATHS, MEND)]
    (tmp_path / "script.jsonl").write_text("\n".join(map(json.dumps, lines)))
    arguments = "propose --repo tree --issue issue.md --script script.jsonl --database graph.sqlite"
    done = CliRunner().invoke(main, [*arguments.split(), "--agent", "agentless-mini"])
    assert done.exit_code == 0, done.output
    assert "+    return n / 2\n" in done.stdout
    assert done.stderr.count(": locate\n") == SamplingPlan().localisations
    assert done.stderr.count(": repair\n") == SamplingPlan().repairs
