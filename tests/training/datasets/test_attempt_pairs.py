"""Agent-RLVR's pairs of attempts, against its Algorithm 1 written out for a table."""

from collections import Counter
from dataclasses import dataclass, replace

import pytest

from model.agents.agentless.agentless_mini import AgentlessMini
from model.agents.agentless.sampling_plan import SamplingPlan
from model.agents.trajectories import trajectory_json
from model.agents.trajectories.guidance import HintSource
from model.engines.scripted import ScriptedEngine
from tests.builders import guided_attempts as attempts
from tests.model.agents.agentless_replies import TREE, locate_reply, repair_reply
from tests.model.agents.builders import ISSUE, build_trajectory, open_tool_context
from training.datasets import attempt_pairs
from training.datasets.attempt_pairs import (
    GUIDED_PARENT,
    HELD_OUT,
    NO_BETTER,
    NO_PARENT,
    OTHER_PROMPT,
    QUOTES_HINT,
    UNJUDGED,
    StagePair,
    pair_attempts,
)
from training.datasets.pairs import JudgedAttempt


@dataclass(frozen=True)
class Row:
    """An attempt of the table: its reward by a test run, and the attempt that its hint is about."""

    issue: str
    reward: float | None
    parent: int | None = None


TABLE = (
    Row("a", 1),
    Row("a", 0),
    Row("a", 0),
    Row("a", 1, parent=1),  # guided and correct
    Row("a", 0, parent=2),  # guided and still incorrect
    Row("a", 1, parent=4),  # its hint is about a guided attempt
    Row("b", 1),
    Row("b", 1),
    Row("c", 0),
    Row("c", None),  # nobody judged it
    Row("c", 1, parent=8),
    Row("d", 1),
    Row("d", 0),
    Row("d", 0, parent=12),
)


def run_algorithm(table):
    """Algorithm 1, lines 3 to 22, on rewards that are known: the places of (correct, incorrect) in the table."""
    rows = list(enumerate(table))
    rollouts = [(at, row) for at, row in rows if row.parent is None]
    pairs = {
        (good, bad)
        for good, better in rollouts
        for bad, worse in rollouts
        if better.issue == worse.issue and (better.reward, worse.reward) == (1, 0)
    }
    incorrect = {at for at, row in rollouts if row.reward == 0}
    return pairs | {
        (at, row.parent) for at, row in rows if row.reward == 1 and row.parent in incorrect
    }


def build_attempts(table):
    """The table's attempts, told apart by their seeds."""
    built = []
    for seed, row in enumerate(table):
        hint = None
        if row.parent is not None:
            hint = replace(
                attempts.HINT, parent=built[row.parent].identity, source=HintSource.VERDICT
            )
        trajectory = build_trajectory(seed=seed, guidance=hint)
        belief = None if row.reward is None else 0.1 + 0.8 * row.reward
        built.append(JudgedAttempt(row.issue, belief, trajectory))
    return built


def list_seeds(pairs):
    return [(pair.chosen.seed, pair.rejected.seed) for pair in pairs]


def test_pairs_are_those_of_algorithm_1():
    paired = pair_attempts(build_attempts(TABLE))
    expected = {(0, 1), (0, 2), (3, 1), (10, 8), (11, 12)}
    assert run_algorithm(TABLE) == expected
    assert sorted(list_seeds(paired.pairs)) == sorted(expected)
    assert paired.left_out == Counter({NO_BETTER: 2, GUIDED_PARENT: 1})
    assert all(pair.chosen.guidance is None is pair.rejected.guidance for pair in paired.pairs)


def test_positives_are_the_correct_attempts_without_a_hint():
    positives = attempt_pairs.list_positives(build_attempts(TABLE), {"b"})
    assert [one.trajectory.seed for one in positives] == [0, 11]


def test_refused_attempt_is_incorrect_whatever_the_verdict():
    first, second, third = build_attempts([Row("a", 1), Row("a", 1), Row("a", 1, parent=0)])
    hint = replace(third.trajectory.guidance, source=HintSource.MAINTAINER)
    guided = replace(third, trajectory=replace(third.trajectory, guidance=hint))
    assert pair_attempts([first, second, third]).pairs == []
    assert list_seeds(pair_attempts([first, second, guided]).pairs) == [(1, 0), (2, 0)]


def test_rollouts_of_another_prompt_or_issue_make_no_pair():
    first, second = build_attempts([Row("a", 1), Row("a", 0)])
    fewer = replace(second, trajectory=replace(second.trajectory, tools=()))
    assert pair_attempts([first, second]).pairs
    assert pair_attempts([first, fewer]).pairs == []
    assert pair_attempts([first, replace(second, issue="b")]).pairs == []
    assert pair_attempts([first, second], {"a"}).pairs == []


@pytest.fixture
def attempt_pair(tmp_path):
    return attempts.build_judged_pair(tmp_path / "tree")


def test_pair_prefers_the_guided_attempt_without_its_hint(attempt_pair):
    first, second = attempt_pair
    (pair,) = pair_attempts(attempt_pair).pairs
    assert pair.issue == "octo/pie#1"
    assert pair.rejected == first.trajectory
    assert pair.chosen.guidance is None
    assert pair.chosen.opening == pair.rejected.opening
    assert "rounded" in second.trajectory.opening[1].content
    assert "n / 2" in pair.chosen.patch


def find_left_out_reason(attempt_pair, **options):
    paired = pair_attempts(attempt_pair, **options)
    assert not paired.pairs
    ((reason, count),) = paired.left_out.items()
    assert count == 1
    return reason


def test_held_out_issue_makes_no_pair(attempt_pair):
    assert find_left_out_reason(attempt_pair, held_out={"octo/pie#1"}) == HELD_OUT


def test_unknown_parent_or_belief_makes_no_pair(attempt_pair):
    first, second = attempt_pair
    assert find_left_out_reason([second]) == NO_PARENT
    assert find_left_out_reason([first, replace(second, belief=None)]) == UNJUDGED
    assert find_left_out_reason([replace(first, belief=None), second]) == UNJUDGED


@pytest.mark.parametrize("beliefs", [(0.1, 0.4), (0.9, 0.9), (0.6, 0.9)])
def test_guided_attempt_that_is_no_better_makes_no_pair(attempt_pair, beliefs):
    judged = [replace(one, belief=of) for one, of in zip(attempt_pair, beliefs, strict=True)]
    assert find_left_out_reason(judged) == NO_BETTER


def test_maintainer_hint_needs_no_verdict_on_the_first(tmp_path):
    first, second = attempts.build_judged_pair(tmp_path / "tree", source=HintSource.MAINTAINER)
    assert pair_attempts([replace(first, belief=None), second]).pairs


def test_attempt_that_quotes_its_hint_makes_no_pair(tmp_path):
    quoting = "n / 2  # the test of odd numbers fails: nothing may be rounded"
    pair = attempts.build_judged_pair(tmp_path / "tree", better=quoting)
    assert find_left_out_reason(pair) == QUOTES_HINT


def test_guided_attempt_of_another_prompt_makes_no_pair(attempt_pair):
    first, second = attempt_pair
    fewer = replace(second, trajectory=replace(second.trajectory, tools=()))
    assert find_left_out_reason([first, fewer]) == OTHER_PROMPT


def test_no_attempts_give_no_pairs():
    assert pair_attempts([]) == attempt_pairs.AttemptPairs()


MATHS, PIE = locate_reply("pie/maths.py"), locate_reply("pie/pie.py")
RIGHT, WRONG = repair_reply("    return n / 2"), repair_reply("    return n // 1")
SPOILT = repair_reply("    return 1", old="no such line")


def run_pipeline(root, *lines, hint=None):
    """An attempt of Agentless Mini with two localisations and two repairs."""
    with open_tool_context(root, TREE) as tools:
        agent = AgentlessMini(ScriptedEngine(lines), plan=SamplingPlan(2, 2))
        return agent.propose(ISSUE, tools, seed=1, guidance=hint).trajectory


def test_each_stage_of_a_pipeline_makes_a_pair(tmp_path):
    worse = run_pipeline(tmp_path / "tree", MATHS, PIE, WRONG, SPOILT)
    hint = replace(attempts.HINT, parent=trajectory_json.compute_identity(worse))
    thought = locate_reply("pie/maths.py", "pie/pie.py")
    better = run_pipeline(tmp_path / "tree", thought, MATHS, SPOILT, RIGHT, hint=hint)
    judged = [JudgedAttempt("o/r#1", 0.1, worse), JudgedAttempt("o/r#1", 0.9, better)]
    pairs = pair_attempts(judged).pairs
    # Both located pie/maths.py in the same words, so only the repair of that file differs.
    assert [(pair.stage, pair.chosen, pair.rejected) for pair in pairs] == [
        ("repair", RIGHT.reply, WRONG.reply)
    ]
    assert "rounded" in better.steps[0].prompt[1].content
    assert "rounded" not in pairs[0].prompt[1].content


def test_pipelines_that_located_other_files_differ_in_the_localisation(tmp_path):
    pie = repair_reply("    return half(n) + 0", old="    return half(n)", path="pie/pie.py")
    worse = run_pipeline(tmp_path / "tree", PIE, PIE, pie, pie)
    better = run_pipeline(tmp_path / "tree", MATHS, MATHS, RIGHT, RIGHT)
    judged = [JudgedAttempt("o/r#1", 0.1, worse), JudgedAttempt("o/r#1", 0.9, better)]
    prompt = better.steps[0].prompt
    assert pair_attempts(judged).pairs == [
        StagePair("o/r#1", "locate", prompt, MATHS.reply, PIE.reply)
    ]
    assert list(attempt_pairs.list_stage_replies(better)) == ["locate", "repair"]


def test_attempt_without_a_patch_is_shown_by_its_first_repair(tmp_path):
    worse = run_pipeline(tmp_path / "tree", MATHS, MATHS, SPOILT, SPOILT)
    assert worse.patch is None
    replies = attempt_pairs.list_stage_replies(worse)
    assert {stage: one.reply for stage, one in replies.items()} == {
        "locate": MATHS.reply,
        "repair": SPOILT.reply,
    }
    assert attempt_pairs.list_stage_replies(build_trajectory()) == {}
