"""Rewards of the episodes of one issue: real attempts, a real verifier whose engine is a script."""

import pytest

from model.agents.trajectories.trajectory import Attempt
from model.engines.scripted import ScriptedEngine, ScriptLine
from model.prompts import prompt_template
from model.verifiers.vote_schemes import R4PVerifier
from tests.builders import guided_attempts
from tests.model.agents.builders import ISSUE
from training.plans.plan import OverlongHandling, RewardSettings
from training.rollouts import episode_judgement

RIGHT, WRONG = "n / 2", "n * 0"


def build_verifier(*lines):
    return R4PVerifier(ScriptedEngine(lines), prompt_template.load("r4p_group"))


def test_verifier_that_is_down_leaves_the_reward_unknown(tmp_path):
    done, silent = (
        Attempt(guided_attempts.run_attempt(tmp_path / "tree", lines), 1.0)
        for lines in (
            guided_attempts.script_fix("n / 2"),
            [guided_attempts.script_call("nothing")] * 5,
        )
    )
    down = build_verifier(ScriptLine(down="gone", repeat=True))
    assert judge(down, [done, silent]) == [None, 0.0]
    assert judge(build_verifier(ScriptLine(box_containing=(RIGHT,), repeat=True)), [silent]) == [
        0.0
    ]


def judge(verifier, attempts, **settings):
    rewards = episode_judgement.judge_episodes(
        verifier, ISSUE, attempts, RewardSettings(**{"votes": 5} | settings), OverlongHandling.MASK
    )
    return [one.reward for one in rewards]


def run_fixes(tmp_path, *fixes):
    return [
        Attempt(
            guided_attempts.run_attempt(tmp_path / "tree", guided_attempts.script_fix(new)), 1.0
        )
        for new in fixes
    ]


READS = ScriptLine(box_containing=(RIGHT,))
BABBLES = ScriptLine(reply="No idea \\boxed{many}.")
FAILS = ScriptLine(fail="the server is on fire")


@pytest.mark.parametrize(
    ("lines", "binary", "share"),
    [
        ([READS] * 5, [1.0, 1.0, 0.0], [1.0, 1.0, 0.0]),
        ([READS] * 2 + [ScriptLine(box_containing=())] * 3, [0.0, 0.0, 0.0], [0.4, 0.4, 0.0]),
        ([READS] + [BABBLES] * 4, [1.0, 1.0, 0.0], [1.0, 1.0, 0.0]),
        ([BABBLES] * 5, [0.0, 0.0, 0.0], [None, None, None]),
        ([READS] * 3 + [FAILS] * 2, [1.0, 1.0, 0.0], [1.0, 1.0, 0.0]),
        ([READS] * 2 + [FAILS] * 3, [None, None, None], [1.0, 1.0, 0.0]),
    ],
)
def test_binary_reward_is_the_majority_of_the_readable_votes(tmp_path, lines, binary, share):
    episodes = run_fixes(tmp_path, RIGHT, RIGHT, WRONG)
    assert judge(build_verifier(*lines), episodes, binary=True) == binary
    assert judge(build_verifier(*lines), episodes) == share


def test_short_patch_has_no_reward_and_is_not_shown(tmp_path):
    line, fix = run_fixes(tmp_path, RIGHT, "n / 2 + 0\n    # exactly")
    # the first edits two lines, the second three
    shown = build_verifier(ScriptLine(box_containing=("exactly",), repeat=True))
    assert judge(shown, [line, fix], binary=True, edited_lines=2) == [0.0, 1.0]
    assert judge(shown, [line, fix], binary=True, edited_lines=3) == [None, 1.0]
    assert judge(
        build_verifier(ScriptLine(box_containing=(RIGHT,), repeat=True)), [line], edited_lines=3
    ) == [None]
