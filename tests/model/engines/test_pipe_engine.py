"""An engine asked over a pipe means what it means when it is asked itself."""

import json
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from model.agents.process.messages import (
    AgentTask,
    AttemptFinished,
    BadMessage,
    ProcessFailed,
    Ready,
    StepFinished,
    encode_message,
    parse_agent_message,
    parse_parent_message,
)
from model.engines.pipe_engine import (
    CompletionQuestion,
    EngineFacts,
    PipeAnswer,
    PipeEngine,
    Reply,
    TokenCountQuestion,
    answer_question,
    describe_engine,
)
from model.engines.scripted import ScriptLine
from model.errors import BadEngine, EngineDown, EngineError, EngineTimeout, NoTools
from model.protocols import Completion, Message, Request, Token, Tool, ToolCall
from tests.model.agents.builders import ISSUE, build_step, build_trajectory
from tests.model.fake_engines import RecordingEngine

REQUEST = Request(
    (
        Message("user", "a \ud800 b"),
        Message("assistant", "", (ToolCall("1", "look", "{}"),)),
        Message("tool", "nothing", tool_call_id="1"),
    ),
    max_tokens=7,
    temperature=0.5,
    seed=3,
    tools=(Tool("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}}),),
    token_ids=True,
    seconds=2.5,
)
COMPLETION = Completion(
    "hm",
    False,
    10,
    2,
    3,
    tokens=(Token("h", -0.5, (("h", -0.5), ("m", -1.0))),),
    tool_calls=(ToolCall("2", "look", '{"at": "x"}'),),
    token_ids=(1, 2),
)


KINDS = st.sampled_from(["Ready", "Count", "Complete", "Stepped", "Finished", "Failed"])
NAMES = st.sampled_from(
    ["id", "text", "requests", "attempt", "step", "trajectory", "seconds", "why"]
)


def round_trip(message, read):
    raw = encode_message(message)
    assert raw.isascii()
    assert raw.count(b"\n") == 1
    return read(raw)


@pytest.mark.parametrize(
    "message",
    [
        Ready(),
        TokenCountQuestion(1, "text"),
        CompletionQuestion(2, (REQUEST, replace(REQUEST, tools=(), seconds=None))),
        StepFinished(0, build_step()),
        AttemptFinished(build_trajectory(), 1.5),
        ProcessFailed("why"),
    ],
)
def test_agent_message_survives_a_round_trip(message):
    assert round_trip(message, parse_agent_message) == message


@pytest.mark.parametrize(
    "message",
    [
        AgentTask("/tree", "/tmp", "mini-se", EngineFacts("a", "b", 9), ISSUE, (1, 2), 60.0),
        PipeAnswer(1, tokens=5),
        PipeAnswer(2, replies=(Reply(COMPLETION),)),
    ],
)
def test_parent_message_survives_a_round_trip(message):
    assert round_trip(message, parse_parent_message) == message


@pytest.mark.parametrize("tokens", [None, frozenset(), frozenset({"<zz_role>", "⟪"})])
def test_special_tokens_of_the_engine_reach_the_agents_process(tokens):
    engine = RecordingEngine()
    engine.special_tokens = tokens
    task = AgentTask("/tree", "/tmp", "mini-se", describe_engine(engine), ISSUE, (1,), 60.0)
    facts = round_trip(task, parse_parent_message).engine
    assert PipeEngine(facts, answer_question).special_tokens == tokens


@pytest.mark.parametrize("raw", [b"", b"[]", b"[1, 2, 3]", b"null", b'["Task", {}]', b"[" * 10**5])
def test_invalid_message_is_refused(raw):
    with pytest.raises(BadMessage):
        parse_agent_message(raw)


SAID = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES | st.text(max_size=3), inner),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.tuples(KINDS | SAID, SAID) | SAID, st.integers(0, 500))
def test_any_json_is_a_message_or_refused(content, digits):
    raw = json.dumps(content).encode()
    for line in (raw, raw.replace(b"1", b"1" * digits)):
        try:
            parsed = parse_agent_message(line)
        except BadMessage:
            continue
        assert parse_agent_message(encode_message(parsed)) == parsed


def test_message_of_the_other_direction_is_refused():
    with pytest.raises(BadMessage, match="KeyError"):
        parse_agent_message(encode_message(PipeAnswer(1)))
    with pytest.raises(BadMessage, match="KeyError"):
        parse_parent_message(encode_message(Ready()))


def build_pipe_engine(engine):
    """An engine that is asked as if by another process: by bytes alone."""

    def ask(question):
        parsed = parse_agent_message(encode_message(question))
        return parse_parent_message(encode_message(answer_question(engine, parsed)))

    return PipeEngine(describe_engine(engine), ask)


class Answering(RecordingEngine):
    """Answers with what it is given."""

    def __init__(self, *answers):
        super().__init__(context_tokens=99)
        self.answers = answers

    def complete(self, requests):
        self.batches.append(list(requests))
        return list(self.answers)


def test_pipe_engine_passes_facts_counts_and_completions():
    engine = Answering(COMPLETION, replace(COMPLETION, text="\ud800", tokens=()))
    there = build_pipe_engine(engine)
    assert (there.name, there.model, there.context_tokens) == ("scripted", "script", 99)
    assert there.count_tokens("12345") == engine.count_tokens("12345") == 2
    assert there.complete([REQUEST, REQUEST]) == list(engine.answers)
    assert engine.batches == [[REQUEST, REQUEST]]
    assert engine.requests[0].seconds == 2.5
    there.close()
    assert there.count_tokens("1") == 1


@pytest.mark.parametrize(
    ("kind", "arrives"),
    [
        (EngineError, EngineError),
        (EngineDown, EngineDown),
        (BadEngine, BadEngine),
        (NoTools, NoTools),
        (EngineTimeout, EngineTimeout),
        (type("Odd", (EngineError,), {}), EngineError),
        (type("OddDown", (EngineDown,), {}), EngineDown),
    ],
)
def test_engine_error_keeps_its_type(kind, arrives):
    (failed,) = build_pipe_engine(Answering(kind("no luck"))).complete([REQUEST])
    assert (type(failed), str(failed)) == (arrives, "no luck")


def test_engine_down_is_raised():
    with pytest.raises(EngineDown, match="out of memory"):
        build_pipe_engine(RecordingEngine(ScriptLine(down="out of memory"))).complete([REQUEST])


def test_empty_answer_is_engine_down():
    there = PipeEngine(
        EngineFacts("a", "b", 9), lambda question: PipeAnswer(question.id, replies=(Reply(),))
    )
    (failed,) = there.complete([REQUEST])
    assert isinstance(failed, EngineDown)


def test_message_begins_with_its_kind():
    assert json.loads(encode_message(ProcessFailed("why"))) == ["ProcessFailed", {"why": "why"}]
