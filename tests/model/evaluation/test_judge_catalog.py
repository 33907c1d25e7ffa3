"""Who judges, as runs know them."""

import pytest

from model.catalog import EngineChoice, VotingChoice
from model.domain import Verdict
from model.evaluation import judge_catalog, labelled_group
from tests.model.chat_server import MODELS, build_classification, serve_chat
from tests.model.evaluation.builders import build_row, format_lines


@pytest.mark.parametrize(("name", "votes"), [("r4p", 3), ("yes-no", 1), ("hybrid:yes-no+r4p", 3)])
def test_verifier_that_answers_once_has_one_vote(tmp_path, name, votes):
    (tmp_path / "script.jsonl").write_text('{"reply": "\\\\boxed{}"}\n')
    choice = EngineChoice("scripted", script=tmp_path / "script.jsonl")
    with judge_catalog.open_judges(name, choice, 3, VotingChoice()) as (judge,):
        assert judge.votes == votes


def test_reward_model_is_measured_by_its_scores(tmp_path):
    """The run file holds sigmoid(1) and sigmoid(3), and no claim."""
    (tmp_path / "groups.jsonl").write_text(format_lines(build_row(1, True, False)))
    (group,) = labelled_group.read_groups(tmp_path / "groups.jsonl")
    scores = [build_classification(value) for value in (3.0, 1.0)]
    with serve_chat(models=[MODELS], classify=scores) as server:
        choice = EngineChoice("openai_compatible", url=server.url)
        with judge_catalog.open_judges("reward-model", choice, 3, VotingChoice()) as (judge,):
            judged = judge.judge(group)
    assert (judge.votes, judged.asked) == (1, 0)
    assert sorted(patch.score for patch in judged.patches) == pytest.approx([0.731059, 0.952574])
    assert {patch.verdict for patch in judged.patches} == {Verdict.UNSURE}
