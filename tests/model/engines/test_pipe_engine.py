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


def there_and_back(message, read):
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
def test_what_an_agent_says_arrives(message):
    assert there_and_back(message, parse_agent_message) == message


@pytest.mark.parametrize(
    "message",
    [
        AgentTask("/tree", "/tmp", "mini-se", EngineFacts("a", "b", 9), ISSUE, (1, 2), 60.0),
        PipeAnswer(1, tokens=5),
        PipeAnswer(2, replies=(Reply(COMPLETION),)),
    ],
)
def test_what_an_agent_is_told_arrives(message):
    assert there_and_back(message, parse_parent_message) == message


@pytest.mark.parametrize("raw", [b"", b"[]", b"[1, 2, 3]", b"null", b'["Task", {}]', b"[" * 10**5])
def test_what_is_no_message_is_refused(raw):
    with pytest.raises(BadMessage):
        parse_agent_message(raw)


SAID = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES | st.text(max_size=3), inner),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.tuples(KINDS | SAID, SAID) | SAID, st.integers(0, 500))
def test_whatever_is_said_is_a_message_or_a_bad_one(said, digits):
    raw = json.dumps(said).encode()
    for one in (raw, raw.replace(b"1", b"1" * digits)):
        try:
            heard = parse_agent_message(one)
        except BadMessage:
            continue
        assert parse_agent_message(encode_message(heard)) == heard


def test_no_direction_takes_the_others_messages():
    with pytest.raises(BadMessage, match="KeyError"):
        parse_agent_message(encode_message(PipeAnswer(1)))
    with pytest.raises(BadMessage, match="KeyError"):
        parse_parent_message(encode_message(Ready()))


def piped(engine):
    """An engine that is asked as if by another process: by bytes alone."""

    def ask(question):
        heard = parse_agent_message(encode_message(question))
        return parse_parent_message(encode_message(answer_question(engine, heard)))

    return PipeEngine(describe_engine(engine), ask)


class Answering(RecordingEngine):
    """Answers with what it is given."""

    def __init__(self, *answers):
        super().__init__(context_tokens=99)
        self.answers = answers

    def complete(self, requests):
        self.batches.append(list(requests))
        return list(self.answers)


def test_facts_counts_and_completions_come_through():
    engine = Answering(COMPLETION, replace(COMPLETION, text="\ud800", tokens=()))
    there = piped(engine)
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
def test_failures_come_through_as_what_they_are(kind, arrives):
    (failed,) = piped(Answering(kind("no luck"))).complete([REQUEST])
    assert (type(failed), str(failed)) == (arrives, "no luck")


def test_an_engine_that_is_down_is_down_there():
    with pytest.raises(EngineDown, match="out of memory"):
        piped(RecordingEngine(ScriptLine(down="out of memory"))).complete([REQUEST])


def test_an_answer_with_nothing_in_it_is_no_completion():
    there = PipeEngine(
        EngineFacts("a", "b", 9), lambda question: PipeAnswer(question.id, replies=(Reply(),))
    )
    (failed,) = there.complete([REQUEST])
    assert isinstance(failed, EngineDown)


def test_a_message_names_its_kind_first():
    assert json.loads(encode_message(ProcessFailed("why"))) == ["ProcessFailed", {"why": "why"}]
