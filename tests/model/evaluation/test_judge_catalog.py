"""Who judges, as runs know them."""

import pytest

from model.catalog import EngineChoice, VotingChoice
from model.evaluation import judge_catalog


@pytest.mark.parametrize(("name", "votes"), [("r4p", 3), ("yes-no", 1), ("hybrid:yes-no+r4p", 3)])
def test_verifier_that_answers_once_has_one_vote(tmp_path, name, votes):
    (tmp_path / "script.jsonl").write_text('{"reply": "\\\\boxed{}"}\n')
    choice = EngineChoice("scripted", script=tmp_path / "script.jsonl")
    with judge_catalog.open_judges(name, choice, 3, VotingChoice()) as (judge,):
        assert judge.votes == votes
