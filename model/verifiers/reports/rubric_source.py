"""Sources of rubrics: a model that reads the issue alone, and stores that keep what any source wrote.

The source that also reads the code is an agent, in `model.agents.mini_se.tree_reader`. Every source writes before it
sees a patch, so no patch can influence its own rubric.
"""

import hashlib
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol

from model.domain import Issue
from model.errors import EngineError
from model.prompts import prompt_template
from model.prompts.fingerprint import combine_fingerprints, derive_seed
from model.prompts.untrusted import escape_issue
from model.protocols import Completion, Engine, Message, Request
from model.voting import rubric
from model.voting.rubric import Rubric

VERIFIER: Final = "rubric"
"""The name of the verifier that grades by rubrics."""
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


class RubricStore(Protocol):
    """The interface of a store of rubrics, each an `r4p.rubric/1` document under a digest."""

    def load(self, digest: str) -> Any:
        """Return what is stored under `digest`, unchecked; None if there is nothing."""
        ...

    def save(self, digest: str, document: Mapping[str, Any]) -> None:
        """Store a document of JSON values under `digest`."""
        ...


@dataclass(frozen=True, slots=True)
class RubricFolder:
    """A store of one file a rubric. A folder that cannot be written costs only time."""

    folder: Path

    def load(self, digest: str) -> Any:
        """Return the JSON of the file of `digest`; None if it cannot be read."""
        try:
            with self._get_path(digest).open("rb") as file:
                return json.loads(file.read(_KEPT_BYTES))
        except (OSError, ValueError):
            return None

    def save(self, digest: str, document: Mapping[str, Any]) -> None:
        """Write the file in one step, so that another process never reads half of it."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self.folder, delete=False) as file:
                file.write(json.dumps(document, sort_keys=True))
            Path(file.name).replace(self._get_path(digest))
        except OSError:
            return

    def _get_path(self, digest: str) -> Path:
        return self.folder / f"{digest}.json"


def keep_rubrics(source: RubricSource, store: RubricStore, *key: str) -> RubricSource:
    """Return a source that keeps each rubric in `store`, and writes one only for a new issue or a new `key`.

    `key` names what the rubric depends on beside the issue and the prompt: the model, and the base. A stored document
    that is no rubric counts as missing. A rubric that could not be written is not stored.
    """

    def write(issue: Issue, complete: Complete) -> Rubric | None:
        identity = "\0".join([issue.text, source.fingerprint, *key])
        digest = hashlib.sha256(identity.encode(errors="surrogatepass")).hexdigest()
        if kept := _read_document(store.load(digest)):
            return kept
        if written := source.write(issue, complete):
            store.save(digest, _build_document(written))
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


def _read_document(document: Any) -> Rubric | None:
    try:
        lines = rubric.read_lines(json.dumps({"lines": document["lines"]}))
        valid = document["schema"] == SCHEMA and isinstance(document["grounds"], str)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return Rubric(lines, document["grounds"]) if lines and valid else None


def _build_document(written: Rubric) -> dict[str, Any]:
    lines = [
        {"kind": line.kind.value, "weight": line.weight, "text": line.text}
        for line in written.lines
    ]
    return {"schema": SCHEMA, "grounds": written.grounds, "lines": lines}
