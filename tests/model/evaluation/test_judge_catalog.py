"""Who judges, as runs know them."""

import pytest

from model.catalog import EngineChoice, VotingChoice
from model.evaluation import judge_catalog


@pytest.mark.parametrize(("name", "votes"), [("r4p", 3), ("yes-no", 1), ("hybrid:yes-no+r4p", 3)])
def test_who_answers_once_is_one_judge_however_many_votes_are_asked_for(tmp_path, name, votes):
    (tmp_path / "script.jsonl").write_text('{"reply": "\\\\boxed{}"}\n')
    choice = EngineChoice("scripted", script=tmp_path / "script.jsonl")
    with judge_catalog.open_judges(name, choice, 3, VotingChoice()) as (judge,):
        assert judge.votes == votes
