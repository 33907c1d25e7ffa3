"""Sources of rubrics: a model that reads the issue alone, and a folder that keeps what any source wrote.

The source that also reads the code is an agent, in `model.agents.mini_se.tree_reader`. Every source writes before it
sees a patch, so no patch can influence its own rubric.
"""

import hashlib
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from model.domain import Issue
from model.errors import EngineError
from model.prompts import prompt_template
from model.prompts.fingerprint import combine_fingerprints, derive_seed
from model.prompts.untrusted import escape_issue
from model.protocols import Completion, Engine, Message, Request
from model.voting import rubric
from model.voting.rubric import Rubric

SCHEMA: Final = "r4p.rubric/1"
REPLY_TOKENS: Final = 1024
"""Room for about 20 lines."""
ISSUE_ALONE: Final = "the issue alone"
_ATTEMPTS: Final = 2
_KEPT_BYTES: Final = 65_536
_MARGIN: Final = 64
"""Tokens for the chat template's own marks."""


Complete = Callable[[list[Request]], list[Completion | EngineError]]
"""A function that sends requests to the engine, and counts their tokens for the verdict."""


@dataclass(frozen=True, slots=True)
class RubricSource:
    """A way to get an issue's rubric."""

    fingerprint: str
    """A fingerprint of the prompt. Grades by rubrics of different prompts are never added up."""
    write: Callable[[Issue, Complete], Rubric | None]
    """A function that writes the rubric of an issue, or returns None if no valid line came back. Raises EngineDown."""


@dataclass(frozen=True, slots=True)
class TreeReaders:
    """What reads the source tree for a verifier. None: the verifier does without the code."""

    rubrics: RubricSource | None = None
    reviewer: Engine | None = None
    """An engine that reads the code before it answers."""
    code: Callable[[Sequence[str], int], str] | None = None
    """A function of diffs and a number of characters. It returns the definitions of the base that the diffs touch."""


def build_issue_source(engine: Engine) -> RubricSource:
    """Build the source that asks `engine` with the issue alone, without any code."""
    template = prompt_template.load("rubric_write")

    def write(issue: Issue, complete: Complete) -> Rubric | None:
        text = escape_issue(issue.text, template.add_delimiters(engine.special_tokens)).text
        messages = template.render(issue=text)
        if not _fits(engine, messages):
            return None
        first = Request(messages, REPLY_TOKENS, 0.0, derive_seed("rubric", issue.text))
        for attempt in range(_ATTEMPTS):
            # the second attempt is sampled, because the first reply would only be repeated
            asked = replace(first, seed=first.seed + attempt, temperature=float(attempt > 0))
            (answer,) = complete([asked])
            lines = () if isinstance(answer, EngineError) else rubric.read_lines(answer.text)
            if lines:
                return Rubric(lines, ISSUE_ALONE)
        return None

    return RubricSource(template.fingerprint, write)


def keep_rubrics(source: RubricSource, folder: Path, *key: str) -> RubricSource:
    """Return a source that keeps each rubric in `folder`, and writes one only for a new issue or a new `key`.

    `key` names what the rubric depends on beside the issue and the prompt: the model, and the digest of the base. A file
    that cannot be read counts as missing, and a folder that cannot be written costs only time.
    """

    def write(issue: Issue, complete: Complete) -> Rubric | None:
        identity = "\0".join([issue.text, source.fingerprint, *key])
        digest = hashlib.sha256(identity.encode(errors="surrogatepass")).hexdigest()
        path = folder / f"{digest}.json"
        if kept := _load(path):
            return kept
        if written := source.write(issue, complete):
            _store(path, written)
        return written

    return RubricSource(source.fingerprint, write)


def chain_sources(first: RubricSource, second: RubricSource) -> RubricSource:
    """Return a source that writes with `second` where `first` writes nothing. The rubric names its own grounds."""
    fingerprint = combine_fingerprints(first.fingerprint, second.fingerprint)
    return RubricSource(
        fingerprint,
        lambda issue, complete: first.write(issue, complete) or second.write(issue, complete),
    )


def _fits(engine: Engine, messages: tuple[Message, ...]) -> bool:
    used = sum(engine.count_tokens(message.content) for message in messages)
    return used + REPLY_TOKENS + _MARGIN <= engine.context_tokens


def _load(path: Path) -> Rubric | None:
    try:
        with path.open("rb") as file:
            document = json.loads(file.read(_KEPT_BYTES))
        lines = rubric.read_lines(json.dumps({"lines": document["lines"]}))
        valid = document["schema"] == SCHEMA and isinstance(document["grounds"], str)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Rubric(lines, document["grounds"]) if lines and valid else None


def _store(path: Path, written: Rubric) -> None:
    """Write the file in one step, so that another process never reads half of it."""
    lines = [
        {"kind": line.kind.value, "weight": line.weight, "text": line.text}
        for line in written.lines
    ]
    document = {"schema": SCHEMA, "grounds": written.grounds, "lines": lines}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
            file.write(json.dumps(document, sort_keys=True))
        Path(file.name).replace(path)
    except OSError:
        return
