"""The engine against a real vLLM: verdicts, log-probabilities, the prefix cache's own counters, adapters."""

import math
from contextlib import closing
from dataclasses import replace

import pytest

from model import catalog
from model.agents.mini_se.tool_engine import ToolEngine
from model.agents.tools.toolbox import TOOLS
from model.catalog import EngineChoice
from model.domain import Issue
from model.engines.openai_compatible import connect
from model.engines.server_check import check_server
from model.errors import EngineError, NoTools
from model.protocols import Completion, Message, Request
from tests import vllm_server
from tests.model.builders import build_patch

pytestmark = [pytest.mark.model, pytest.mark.timeout(600)]

ASK = (Message("user", "What is the capital of France? Answer in one word."),)
GREEDY = Request(ASK, max_tokens=8, temperature=0.0, seed=0)


@pytest.fixture
def engine(vllm):
    with closing(connect(vllm.url, vllm.model)) as engine:
        yield engine


def complete(engine, *requests):
    answers = engine.complete(requests)
    assert all(isinstance(answer, Completion) for answer in answers), answers
    return answers


def test_a_group_is_judged_from_end_to_end(vllm):
    engine = catalog.load_engine(EngineChoice("openai_compatible", url=vllm.url))
    with closing(engine):
        verdict = catalog.load_verifier("r4p", engine, reply_tokens=24).verify(
            Issue("It breaks", "when the list is empty"),
            [build_patch("a", "return items or []"), build_patch("b", "raise ValueError")],
            votes=4,
        )
    assert verdict.engine.model == vllm.model
    assert [vote.failure for vote in verdict.votes if "engine" in (vote.failure or "")] == []
    assert all(vote.reply for vote in verdict.votes)
    assert all(one.votes.valid + one.votes.none == 4 for one in verdict.patches)
    assert verdict.tokens.cached > 0


def test_the_cache_gives_what_votes_over_one_issue_have_in_common(vllm, engine):
    story = "The quick brown fox jumps over the lazy dog again. " * 60
    requests = [
        replace(GREEDY, messages=(Message("user", f"{story} Patch {n}"),), max_tokens=1)
        for n in range(4)
    ]
    before = vllm.metrics()
    complete(engine, *requests)
    after = vllm.metrics()
    hits, queries = (
        after[name] - before[name]
        for name in ("prefix_cache_hits_total", "prefix_cache_queries_total")
    )
    assert 0.70 <= hits / queries <= 0.75


def test_samples_of_one_prompt_are_one_request_with_several_replies(engine):
    story = (Message("user", "Tell me a story about a dog."),)
    answers = complete(engine, *(Request(story, 12, 1.0, seed) for seed in range(3)))
    assert len({answer.text for answer in answers}) == 3
    assert [answer.prompt_tokens > 0 for answer in answers] == [True, False, False]
    assert sum(answer.completion_tokens for answer in answers) == 36


def test_a_long_prompt_with_a_seed_does_not_end_the_server(engine):
    long = [Request((Message("user", f"{n} " + "word " * 3000),), 2, 1.0, seed=n) for n in range(4)]
    assert [answer.completion_tokens for answer in complete(engine, *long)] == [2] * 4


def test_log_probabilities_are_those_of_the_reply(engine):
    (answer,) = complete(engine, replace(GREEDY, top_logprobs=5, max_tokens=20))
    assert answer.finished
    assert "".join(token.text for token in answer.tokens) == answer.text
    for token in answer.tokens:
        assert len(token.top_logprobs) >= 5
        assert token.top_logprobs[0] == (token.text, pytest.approx(token.log_probability))
        assert 0 < sum(math.exp(chance) for _, chance in token.top_logprobs) <= 1.001


def test_an_opened_reply_is_continued_and_its_continuation_scored(engine):
    opened = replace(GREEDY, prefill="The capital of France is", max_tokens=1, top_logprobs=3)
    (answer,) = complete(engine, opened)
    assert answer.text.strip() == "Paris"
    assert answer.tokens[0].log_probability > math.log(0.5)


def test_the_server_tells_the_special_tokens_of_its_tokenizer(engine):
    embedded = catalog.load_engine(
        EngineChoice("local_transformers", model=vllm_server.SMALL, cache=vllm_server.MODELS)
    )
    with closing(embedded):
        assert embedded.special_tokens == engine.special_tokens
    assert {"<|im_start|>", "<|im_end|>", "<repo_name>"} <= engine.special_tokens


def test_the_embedded_engine_reads_the_same_probabilities(engine):
    embedded = catalog.load_engine(
        EngineChoice("local_transformers", model=vllm_server.SMALL, cache=vllm_server.MODELS)
    )
    with closing(embedded):
        request = replace(GREEDY, top_logprobs=3)
        (here,), (there,) = complete(embedded, request), complete(engine, request)
    assert here.text == there.text
    assert [one.text for one in here.tokens] == [one.text for one in there.tokens]
    for one, other in zip(here.tokens, there.tokens, strict=True):
        assert one.log_probability == pytest.approx(other.log_probability, abs=0.15)


def test_a_prompt_beyond_the_context_fails_alone(engine):
    long = replace(GREEDY, messages=(Message("user", "word " * 6000),))
    fine, too_long = engine.complete([GREEDY, long])
    assert isinstance(fine, Completion)
    assert isinstance(too_long, EngineError)
    assert "4096" in str(too_long)


def test_tokens_are_counted_by_the_server(engine):
    assert engine.count_tokens("hello world") == 2


def test_nothing_is_missing_from_vllm(vllm):
    found = check_server(vllm.url)
    assert found.served.name == vllm.model
    assert found.served.context_tokens == 4096
    assert found.missing_abilities == ()


def test_a_server_without_a_tool_parser_is_asked_in_words(engine):
    request = replace(GREEDY, tools=TOOLS, token_ids=True)
    (refused,) = engine.complete([request])
    assert isinstance(refused, NoTools), "it was started without --enable-auto-tool-choice"
    (answer,) = ToolEngine(engine).complete([request])
    assert isinstance(answer, Completion)
    assert len(answer.token_ids) == answer.completion_tokens > 0
    assert answer.prompt_tokens > 300, "the tools are described"
