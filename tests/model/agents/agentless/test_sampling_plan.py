"""Agentless Mini's numbers of samples, and the reproduction tests among them."""

import pytest

from model.agents.agentless.agentless_mini import AgentlessMini
from model.agents.agentless.sampling_plan import SamplingPlan
from model.agents.trajectories.trajectory import StopReason
from model.engines.scripted import ScriptLine
from model.errors import IncompatibleOptions
from model.reproduction.rerank import SelectedPatches
from tests.model.agents.agentless_replies import (
    MATHS,
    MEND,
    REPRODUCE,
    ROUND,
    TREE,
    read_outcomes,
    read_user_prompt,
    reproduce_reply,
)
from tests.model.fake_engines import RecordingEngine


def test_tests_are_sampled_after_the_repairs_and_reach_the_filter(pipeline):
    seen = []

    def keep(candidates, tests):
        seen.extend(tests)
        return SelectedPatches(tuple(one.id for one in candidates), {})

    done, engine = pipeline(
        *(MATHS, ROUND, MEND, MEND),
        reproduce_reply("print(1)"),
        ScriptLine(when=REPRODUCE, reply="I cannot."),
        plan=SamplingPlan(1, 3, tests=2),
        keep=keep,
        tree=TREE | {"tests/test_pie.py": "def test_half():\n    pass\n"},
    )
    assert seen == ["print(1)\n"]
    one, two = read_outcomes(done, "reproduce")
    assert (one, two["dropped"]) == ({"test": "print(1)\n"}, "no_script")
    assert done.rounds == 6
    assert "tests/test_pie.py:\n<patch-test-file>\ndef test_half" in read_user_prompt(
        engine.requests[-1]
    )
    assert "return n / 2" in done.patch


@pytest.mark.parametrize("line", [{"fail": "gone", "repeat": True}, {"down": "gone"}])
def test_without_tests_the_patches_are_voted_on(pipeline, line):
    tests = ScriptLine(when=REPRODUCE, **line)
    done, _ = pipeline(MATHS, MEND, tests, plan=SamplingPlan(1, 1, tests=2))
    assert (done.stop, "return n / 2" in done.patch) == (StopReason.SUBMITTED, True)


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ({"localisations": 0}, "localisations is 0; take at least 1"),
        ({"tests": -1}, "tests is -1; take at least 0"),
        ({"repairs": 2_000}, "2,004 samples in one attempt are more than 1,000"),
    ],
)
def test_impossible_plan_is_refused(numbers, words):
    with pytest.raises(IncompatibleOptions, match=words):
        AgentlessMini(RecordingEngine(), plan=SamplingPlan(**numbers))
