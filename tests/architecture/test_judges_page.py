"""The templates of the page on judges work as they stand."""

import re

import pytest

from model import catalog
from model.agents.agentless.repair_prompt import get_parser, load_repair_prompt
from model.agents.agentless.search_replace import parse_solution
from model.catalog import VotingChoice
from model.prompts.template_checks import VARIABLES
from model.verifiers import judge_prompts
from tests.architecture.source import ROOT

PAGE = (ROOT / "docs/judges.md").read_text()
GROUP, TRAJECTORY, REVIEW, REPAIR = (
    text
    for _fence, text in re.findall(r"^(`{3,4})jinja\n(.*?)^\1$", PAGE, re.DOTALL | re.MULTILINE)
)


@pytest.mark.parametrize(
    ("text", "verifiers"),
    [
        (GROUP, ["r4p", "r4p-two-rounds", "pointwise"]),
        (TRAJECTORY, ["yes-no", "yes-no-trajectory"]),
        (REVIEW, ["review"]),
    ],
)
def test_a_shown_template_of_a_judge_can_be_used(tmp_path, text, verifiers):
    (tmp_path / "own.j2").write_text(text)
    for verifier in verifiers:
        catalog.check_choice(verifier, VotingChoice(), tmp_path / "own.j2")


def test_the_shown_template_of_repairs_can_be_used(tmp_path):
    (tmp_path / "own.j2").write_text(REPAIR)
    assert get_parser(load_repair_prompt(tmp_path / "own.j2")) is parse_solution


def test_the_page_names_every_verifier_template_and_variable_of_an_operator():
    templates = {form.template for form in judge_prompts.FORMS.values()}
    # of steps whose templates have no setting
    fixed = {"tree", "most", "test_path", "test_file", "message", "change", "tests", "outputs"}
    own = VARIABLES.keys() - fixed
    named = {*re.findall(r"`([\w-]+)`", PAGE)}
    assert judge_prompts.FORMS.keys() | templates | own <= named
