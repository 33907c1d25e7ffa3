"""A repository's own tests run on its rivals: webhooks, sandboxes and the comment, with a worker of its own."""

import pytest

from tests.builders.plain_environments import NAME, build_plain_environment
from tests.stories import stage as stages
from tests.stories.story import Story
from tests.stories.verdicts import ADVISORY

pytestmark = [pytest.mark.services, pytest.mark.proof]

CONFIG = f"{ADVISORY}tests: {{command: python -m unittest test_area, environment: {NAME}, seconds: 60, reproduction: true}}\n"
TESTS = """import unittest
from area import area


class AreaTest(unittest.TestCase):
    def test_square_of_two(self):
        self.assertEqual(area(2, 2), 4)

    def test_nothing(self):
        self.assertEqual(area(0, 0), 0)
"""
"""Both tests pass on the base, which adds."""


@pytest.fixture(scope="module")
def testing_stage(bubblewrap, tmp_path_factory):
    """A bot whose operator has switched tests on, with one environment."""
    data = tmp_path_factory.mktemp("stage")
    environments = build_plain_environment(tmp_path_factory.mktemp("environments"))
    settings = stages.build_script_settings(data) | {
        "R4P_TESTS": str(environments),
        "R4P_REPRODUCTION_TESTS": "2",
    }
    with stages.run_stage(data, settings) as running:
        yield running


@pytest.fixture
def testing_story(testing_stage):
    """A story in a repository with tests."""
    story = Story.begin(testing_stage, "testing_story", CONFIG, {"test_area.py": TESTS})
    yield story
    story.end()


def test_the_comment_names_the_broken_test_and_a_hostile_patch_scores_nothing(testing_story):
    issue = testing_story.issue()
    right = testing_story.rival(issue, "w * h")
    # Both words please the scripted judge, and the first breaks a test of the base.
    broken = testing_story.rival(issue, "w * h + 1 - 1 if w else 7")
    hostile = testing_story.rival(issue, "w * h or __import__('os')._exit(0)")
    adding = testing_story.rival(issue, "w + h + 0")
    testing_story.settle()
    verdict = testing_story.verdict(issue)
    assert verdict.rows[right] == "Correct"
    assert verdict.rows[broken] == "Unsure"
    patches = {patch["id"]: patch for patch in verdict.document["patches"]}
    assert patches[f"#{right}"]["evidence"]["regression"] == {
        "expected": 2,
        "broken": 0,
        "names": [],
    }
    assert patches[f"#{broken}"]["evidence"]["regression"] == {
        "expected": 2,
        "broken": 1,
        "names": ["test_area.AreaTest.test_nothing"],
    }
    assert patches[f"#{broken}"]["judged"]["verdict"] == "correct"
    shown = patches[f"#{hostile}"]["evidence"]
    assert "regression" not in shown
    assert "reaches for what runs the tests" in shown["unknown"]
    assert shown["reproduction_unknown"] == "no run of them gave a result"
    assert patches[f"#{right}"]["evidence"]["reproduction"] == {"tests": 1, "passed": 1}
    assert patches[f"#{adding}"]["evidence"]["reproduction"] == {"tests": 1, "passed": 0}
    passing = f"- The reproduction test, written for the issue, passes with #{right} and #{broken}."
    assert passing in verdict.body
    names = "`test_area.AreaTest.test_nothing`"
    assert f"- #{broken} breaks 1 of 2 tests that pass on the base: {names}." in verdict.body
    columns = "| PR | Verdict | Agreement | Broken tests | Reproduction tests passed | Commit |"
    assert columns in verdict.body
    assert ", breaks 1 of 2 tests (advisory)" in testing_story.check(broken).title
    status = testing_story.answer(issue, testing_story.command(issue, "/r4p status"))
    assert (
        "The repository's tests ran: 2 pass on the base. 1 test written for the issue ran too."
        in status
    )
    assert testing_story.is_silent(right, broken, hostile, adding)
    assert testing_story.check(broken).conclusion == "neutral"
