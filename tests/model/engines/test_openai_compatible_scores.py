"""Scores of a reward model behind a server: the body that vLLM's `/classify` gets, its answers, and their failures."""

from contextlib import closing

import pytest

from model.engines.openai_compatible import connect
from model.engines.server_check import check_scores
from model.errors import EngineDown, EngineError
from model.protocols import Message, RawScore
from tests.model.chat_server import (
    MODELS,
    Reply,
    build_classification,
    build_completion,
    serve_chat,
)

PROMPT = (Message("system", "judge"), Message("user", "patch a"))
FIX = r"needs a vLLM that serves a merged reward model \(r4p train merge\)"


def score(*prompts, **routes):
    with (
        serve_chat(models=[MODELS], **routes) as server,
        closing(connect(server.url, None)) as engine,
    ):
        return engine.score(prompts), server


def test_raw_score_is_asked_for_at_the_start_of_a_reply():
    answers, server = score(PROMPT, classify=[build_classification(-7.25, prompt_tokens=31)])
    assert answers == [RawScore(-7.25, 31)]
    assert server.list_bodies("/classify") == [
        {
            "model": "r4p",
            "messages": [
                {"role": "system", "content": "judge"},
                {"role": "user", "content": "patch a"},
            ],
            "add_generation_prompt": True,
            "use_activation": False,
        }
    ]


def test_classifier_of_two_labels_scores_by_their_difference():
    answers, _ = score(PROMPT, classify=[build_classification(-1.5, 2.0, prompt_tokens=31)])
    assert answers == [RawScore(3.5, 31)]


def test_failed_prompt_is_an_error_among_the_scores():
    too_long = Reply({"error": {"message": "longer than 4096 tokens"}}, 400)
    answers, _ = score(PROMPT, PROMPT, classify=[build_classification(2.0), too_long])
    (fine,) = [answer for answer in answers if isinstance(answer, RawScore)]
    (failed,) = [answer for answer in answers if isinstance(answer, EngineError)]
    assert fine == RawScore(2.0, 100)
    assert "longer than 4096 tokens" in str(failed)
    assert score()[0] == []


@pytest.mark.parametrize(
    ("routes", "message"),
    [
        ({}, f"answered HTTP 404: .*{FIX}"),
        ({"classify": [Reply({"detail": "Not Found"}, 404)]}, f"HTTP 404: .*Not Found.*{FIX}"),
        ({"classify": [build_classification(0.1, 0.9, 0.2)]}, f"has a head of 3 labels.*{FIX}"),
        ({"classify": [build_completion("YES")]}, f"is no score: .*{FIX}"),
        ({"classify": [Reply(b"<html>")]}, f"is no score: .*{FIX}"),
    ],
)
def test_server_without_scores_is_down_with_the_fix(routes, message):
    with pytest.raises(EngineDown, match=message):
        score(PROMPT, PROMPT, **routes)


def test_check_asks_for_one_score():
    with serve_chat(models=[MODELS], classify=[build_classification(0.5)]) as server:
        assert check_scores(server.url).name == "r4p"
    with (
        serve_chat(models=[MODELS], classify=[Reply({"error": "no chat template"}, 400)]) as server,
        pytest.raises(EngineDown, match=r"returns no score: .*no chat template"),
    ):
        check_scores(server.url)
