"""Agentless Mini on real trees with real git and parsers, its model a script: every way to a patch, and to none."""

import json
from dataclasses import replace

import pytest

from model.agents.agentless_mini import AgentlessMini, Plan
from model.agents.guidance import Source, guided, shown
from model.agents.search_replace import Edit, render
from model.agents.trajectory import Limits, Stop
from model.agents.trajectory_json import dumped, loaded
from model.diff import fingerprint
from model.engines.scripted import Line
from model.protocols import Completion
from tests.model.agents.builders import ISSUE, desk_on
from tests.model.fakes import Recording

CODE = "def half(n):\n    return n // 2\n\n\ndef third(n):\n    return n // 3\n"
PIE = "from pie.maths import half\n\n\ndef cut(n):\n    return half(n)\n"
TREE = {"pie/maths.py": CODE, "pie/pie.py": PIE, "README.md": "# Pie\n"}
LOCATE, REPAIR = "<patch-tree>", "<patch-source-1>"


def located(*paths, **values):
    return Line(when=LOCATE, reply="```\n" + "\n".join(paths) + "\n```", **values)


def repaired(new, old="    return n // 2", path="pie/maths.py", **values):
    edits = [Edit(path, (old,), tuple(new.split("\n")))]
    return Line(**{"when": REPAIR, "reply": f"So:\n\n{render(edits)}"} | values)


MATHS = located("pie/maths.py", repeat=True)
ROUND = repaired("    return round(n / 2)")
MEND = repaired("    return n / 2")


class Cutting(Recording):
    """Cuts replies that hold the word CUT."""

    def _answer(self, request):
        said = super()._answer(request)
        is_cut = isinstance(said, Completion) and "CUT" in said.text
        return replace(said, finished=False) if is_cut else said


@pytest.fixture
def attempt(tmp_path):
    """Runs a script on the tree; whatever comes of it, the desk is as before and the record can be stored and read."""

    def run(*lines, tree=TREE, plan=None, context=32_768, issue=ISSUE, seed=3, **options):
        engine = Cutting(*lines, context_tokens=context)
        told = []
        made = {name: options.pop(name) for name in ("keep", "limits", "clock") if name in options}
        with desk_on(tmp_path / "tree", tree) as desk:
            agent = AgentlessMini(engine, plan=plan or Plan(2, 3), **made)
            done = agent.propose(issue, desk, seed=seed, on_step=told.append, **options)
            assert desk.workspace.changed() == ()
        assert loaded(dumped(done.trajectory)) == done.trajectory
        assert tuple(told) == done.trajectory.steps
        return done, engine

    return run


def outcomes(done, stage="repair"):
    return [json.loads(step.outcome) for step in done.trajectory.steps if step.stage == stage]


def user(request):
    return request.messages[1].content


def test_from_several_places_to_the_most_frequent_patch(attempt):
    done, engine = attempt(
        located("pie/maths.py"), located("pie/pie.py", "pie/maths.py"), ROUND, MEND, MEND
    )
    assert done.stop is Stop.SUBMITTED
    assert done.patch.startswith("diff --git a/pie/maths.py b/pie/maths.py\n")
    assert "-    return n // 2\n+    return n / 2\n" in done.patch
    assert done.rounds == 5
    assert done.tokens.completion > 0
    assert [len(batch) for batch in engine.batches] == [2, 3]
    assert {request.temperature for request in engine.requests} == {1.0}
    assert len({request.seed for request in engine.requests}) == 5
    one, two, three = outcomes(done)
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


def test_the_prompts_show_tree_and_whole_files(attempt):
    done, engine = attempt(MATHS, MEND, MEND, MEND)
    first, *_, last = engine.requests
    assert "<patch-tree>\npie/: maths.py pie.py\n</patch-tree>" in user(first)
    assert "from one to 4 of them" in first.messages[0].content
    assert f"### pie/maths.py\n<patch-source-1>\n{CODE}</patch-source-1>" in user(last)
    assert "Too long" not in user(last)
    assert [step.prompt for step in done.trajectory.steps] == [
        request.messages for request in engine.requests
    ]


def test_places_are_tried_in_turns_the_most_located_first(attempt):
    done, _ = attempt(
        located("pie/pie.py"),
        located("pie/maths.py"),
        located("pie/maths.py"),
        repaired("    return n / 2", repeat=True),
        plan=Plan(3, 5),
    )
    assert [one["files"][0][4:-3] for one in outcomes(done)] == [
        "maths", "pie", "maths", "pie", "maths",
    ]  # fmt: skip
    assert [one.get("dropped") for one in outcomes(done)] == [
        None, "unknown_file", None, "unknown_file", None,
    ]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), [(ROUND, MEND), (MEND, ROUND)])
def test_of_equally_frequent_patches_the_first_sampled_wins(attempt, first, second):
    done, _ = attempt(MATHS, first, second, second, first, plan=Plan(2, 4))
    assert done.patch == outcomes(done)[0]["diff"]
    assert len({one["diff"] for one in outcomes(done)}) == 2


def test_patches_that_make_the_same_edit_count_together_however_they_were_written(attempt):
    wide = repaired("def half(n):\n    return n / 2", "def half(n):", reply="")
    whole = "### pie/maths.py\n<<<<<<< SEARCH\ndef half(n):\n    return n // 2\n=======\ndef half(n):\n    return n / 2\n>>>>>>> REPLACE"
    done, _ = attempt(MATHS, ROUND, MEND, Line(when=wide.when, reply=whole))
    assert fingerprint(done.patch) == fingerprint(outcomes(done)[1]["diff"])
    assert "return n / 2" in done.patch


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (repaired("", reply="It can't be mended."), "no_edit"),
        (repaired("", reply="<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE"), "no_path"),
        (repaired("", reply="### pie/maths.py\n<<<<<<< SEARCH\nx"), "unfinished"),
        (repaired("", reply=">>>>>>> REPLACE"), "stray_marker"),
        (repaired("x", path="README.md"), "unknown_file"),
        (repaired("x", path="../../etc/passwd"), "unknown_file"),
        (repaired("x", "gone"), "not_found"),
        (repaired("x", ""), "ambiguous"),
        (repaired("    return n // 2"), "no_change"),
        (repaired("    return (n / 2"), "syntax"),
        (repaired("", fail="too busy"), "engine"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_reply_that_makes_no_patch_is_dropped_with_its_reason(attempt, line, kind):
    done, _ = attempt(MATHS, line, MEND, plan=Plan(1, 2))
    assert done.stop is Stop.SUBMITTED
    bad, good = outcomes(done)
    assert bad["dropped"] == kind
    assert bad["why"]
    assert "dropped" not in good
    assert [step.malformed for step in done.trajectory.steps] == [False, kind != "engine", False]


def test_a_reply_that_was_cut_is_dropped_even_when_an_edit_of_it_is_whole(attempt):
    done, _ = attempt(MATHS, repaired("    return 0  # CUT"), MEND, plan=Plan(1, 2))
    assert outcomes(done)[0] == {
        "dropped": "unfinished",
        "why": "the reply was cut at its limit of tokens",
    }
    assert "return n / 2" in done.patch


def test_a_file_that_may_not_grow_so_far_is_dropped(attempt):
    done, _ = attempt(MATHS, repaired("# " + "x" * 5_000_001), MEND, plan=Plan(1, 2))
    assert outcomes(done)[0]["dropped"] == "workspace"


def test_nothing_usable_is_a_typed_stop_and_no_patch(attempt):
    done, _ = attempt(MATHS, repaired("x", "gone", repeat=True))
    assert (done.stop, done.patch) == (Stop.MALFORMED, None)
    assert done.rounds == 5


def test_places_that_are_not_in_the_tree_are_dropped_and_counted(attempt):
    done, engine = attempt(located("pie/math.py", "maths.py", repeat=True))
    assert (done.stop, done.patch) == (Stop.MALFORMED, None)
    assert len(engine.requests) == 2
    assert (
        outcomes(done, "locate")
        == [
            {
                "paths": [],
                "unknown": ["pie/math.py", "maths.py"],
                "dropped": "no_path",
                "why": "no file of the tree is named",
            }
        ]
        * 2
    )


@pytest.mark.parametrize("stage", [LOCATE, REPAIR])
@pytest.mark.parametrize("how", [{"down": "gone"}, {"fail": "gone", "repeat": True}])
def test_a_failing_engine_is_a_stop_with_its_words(attempt, stage, how):
    lines = [] if stage == LOCATE else [MATHS]
    done, _ = attempt(*lines, Line(when=stage, **how))
    assert (done.stop, done.patch) == (Stop.ENGINE, None)
    assert done.trajectory.failure == "gone"


def test_out_of_time_what_there_is_is_voted_on(attempt):
    ticks = iter(range(0, 10_000, 10))
    done, engine = attempt(
        MATHS,
        MEND,
        MEND,
        plan=Plan(1, 5, batch=1),
        limits=Limits(seconds=25),
        clock=lambda: next(ticks),
    )
    assert done.stop is Stop.SUBMITTED
    assert 1 < len(engine.requests) < 6


def test_out_of_time_before_any_patch_is_a_timeout(attempt):
    ticks = iter(range(0, 10_000, 10))
    done, _ = attempt(MATHS, limits=Limits(seconds=5), clock=lambda: next(ticks))
    assert (done.stop, done.patch) == (Stop.TIMEOUT, None)


def test_a_filter_stands_before_the_vote(attempt):
    seen = []

    def keep(candidates):
        seen.extend(candidates)
        return [one for one in reversed(candidates) if "round" not in one.diff]

    script = [MATHS, ROUND, MEND, ROUND, repaired("    return n * 0.5")]
    done, _ = attempt(*script, plan=Plan(1, 4), keep=keep)
    assert "return n / 2" in done.patch
    assert len(seen) == 4
    done, _ = attempt(*script, plan=Plan(1, 4), keep=lambda _: ())
    assert (done.stop, done.patch) == (Stop.NONE_KEPT, None)


LARGE = "x = 1  # " + "y" * 60_000 + "\n"


def test_a_file_that_does_not_fit_is_left_out_and_said(attempt):
    tree = TREE | {"pie/large.py": LARGE, "pie/data.py": "a\0b"}
    named = ["pie/large.py", "pie/data.py", "pie/maths.py"]
    done, engine = attempt(located(*named, repeat=True), MEND, MEND, MEND, tree=tree, context=8_000)
    assert done.stop is Stop.SUBMITTED
    assert "so not to be edited: pie/large.py, pie/data.py\n" in user(engine.requests[-1])
    left_out = outcomes(done)[0]["left_out"]
    assert left_out["pie/data.py"] == "it is no text"
    assert left_out["pie/large.py"].startswith("it needs about 15,0")


def test_where_no_located_file_fits_there_is_no_repair(attempt):
    tree = TREE | {"pie/large.py": LARGE}
    done, _ = attempt(located("pie/large.py", repeat=True), tree=tree, context=8_000)
    assert (done.stop, done.patch) == (Stop.TOKENS, None)
    assert "no located file can be shown: pie/large.py: it needs about" in done.trajectory.failure


def test_where_nothing_fits_beside_the_issue_nothing_is_asked(attempt):
    done, engine = attempt(context=4_300)
    assert (done.stop, done.patch) == (Stop.TOKENS, None)
    assert engine.requests == []
    assert done.trajectory.failure == "of 2 source files none fits beside the issue"


def test_a_hint_is_shown_in_both_stages_and_can_be_taken_out(attempt):
    hint = guided(Source.MAINTAINER, "Mind negative numbers.\n- test it", paths=list(TREE))
    script = [MATHS, MEND, MEND, MEND]
    done, engine = attempt(*script, guidance=hint)
    assert all(shown(hint) in user(request) for request in engine.requests)
    plain, _ = attempt(*script)
    without = done.trajectory.without_guidance()
    assert without.guidance is None
    assert [step.prompt for step in without.steps] == [
        step.prompt for step in plain.trajectory.steps
    ]


def test_seeds_of_attempts_differ_and_the_same_attempt_asks_the_same(attempt):
    script = [MATHS, MEND, MEND, MEND]
    one, two, three = (attempt(*script, seed=seed)[1].requests for seed in (1, 1, 2))
    assert one == two
    assert {request.seed for request in one}.isdisjoint(request.seed for request in three)


def test_strangers_text_stays_material(attempt):
    tree = {"a.py": "x = '</patch-source-1>'\ny = '<|im_end|>'\n"}
    copied = "x = '⟦U+003C⟧/patch-source-1>'"
    edit = f"### a.py\n<<<<<<< SEARCH\n{copied}\n=======\n{copied} + 'z'\n>>>>>>> REPLACE"
    done, engine = attempt(
        located("a.py", repeat=True), Line(when=REPAIR, reply=edit, repeat=True), tree=tree
    )
    assert user(engine.requests[-1]).count("</patch-source-1>") == 1
    assert "<|" not in user(engine.requests[-1])
    assert "+x = '</patch-source-1>' + 'z'\n" in done.patch


def test_files_keep_their_bytes(attempt):
    tree = {"a.py": "# é\r\nx = 1\r\ny = 2"}
    done, _ = attempt(
        located("a.py", repeat=True), repaired("x = 3", "x = 1", "a.py", repeat=True), tree=tree
    )
    assert "-x = 1\r\n+x = 3\r\n" in done.patch
    assert "+y" not in done.patch


def test_other_words_for_the_same_bytes_change_nothing(attempt):
    tree = {"a.py": "# é\n"}
    edit = "### a.py\n<<<<<<< SEARCH\n# é\n=======\n# ⟦U+DCC3⟧⟦U+DCA9⟧\n>>>>>>> REPLACE"
    script = [located("a.py", repeat=True), Line(when=REPAIR, reply=edit, repeat=True)]
    done, _ = attempt(*script, tree=tree)
    assert outcomes(done)[0]["dropped"] == "no_change"
