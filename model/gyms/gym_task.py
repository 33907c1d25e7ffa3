"""The records of a gym, `r4p.gym/1`: tasks, recipes of test environments, and the manifest (pure).

`gym_task.schema.json` beside this file is the JSON Schema of a line of `tasks.jsonl`.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from model import typed_json
from model.domain import Issue

SCHEMA: Final = "r4p.gym/1"
_TASK_ID: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?![.]|lock$|$)){0,99}")
"""Ids that git accepts as the last part of a reference."""


class TestsFrom(StrEnum):
    """Where the fail-to-pass tests of a task come from."""

    COMMIT = "commit"
    """The commit that holds the true patch."""
    GENERATED = "generated"
    """A generator that knew the true patch."""
    BENCHMARK = "benchmark"
    """A published benchmark."""


class StatementFrom(StrEnum):
    """What wrote the statement of a task."""

    MODEL = "model"
    """A language model that knew the true patch."""
    TESTS = "tests"
    """The builder, from the failing tests."""


@dataclass(frozen=True, slots=True)
class GymCandidate:
    """A patch that may resolve a task, with what the task's tests say about it."""

    id: str
    patch: str
    """A unified diff without tests."""
    resolved: bool | None
    """Whether every fail-to-pass and pass-to-pass test passes with the patch; None where that is not known."""
    source: str
    """Where the patch comes from, such as `true` or `mutant`. No verifier may see it."""


@dataclass(frozen=True, slots=True)
class GymTask:
    """An issue with its tests, as R2E-Gym defines it (section 2)."""

    id: str
    repository: str
    """`owner/name`, or the name alone where there is no owner."""
    base_commit: str
    """The commit of the source repository before the true patch."""
    created: str
    """Date of the true patch, as ISO 8601."""
    statement: str
    """The text of the issue."""
    patch: str
    """The true patch, a unified diff without tests."""
    minimal_patch: str | None
    """The smallest part of the true patch that passes the fail-to-pass tests; None if nobody looked for it."""
    test_patch: str
    """The unified diff that adds the tests. The base tree does not hold it."""
    command: str
    """The test command, such as `pytest -q tests`."""
    environment: str
    """Name of a test environment of the gym."""
    fail_to_pass: tuple[str, ...]
    """Ids of the tests that fail on the base with the test patch, and pass with the true patch as well."""
    pass_to_pass: tuple[str, ...]
    """Ids of the tests that pass with and without the true patch."""
    provenance: Mapping[str, str]
    """What is recorded about the origin, such as `commit` and `subject`."""
    licence: str
    """SPDX name of the repository's licence."""
    tests_from: TestsFrom
    candidates: tuple[GymCandidate, ...] = ()
    statement_from: StatementFrom | None = None
    """None where no language model was to be asked."""

    def read_issue(self) -> Issue:
        """Return the statement as an issue. Its first line is the title."""
        title, _, body = self.statement.strip().partition("\n")
        return Issue(title.strip(), body.strip())


@dataclass(frozen=True, slots=True)
class GymSource:
    """A repository whose history gave tasks."""

    repository: str
    licence: str
    """SPDX name of the licence."""
    commits: str
    """The commits that were looked at, as `first..last`."""


@dataclass(frozen=True, slots=True)
class GymStatements:
    """What a language model did for the statements of a gym."""

    model: str
    """The name of the model."""
    prompt: str
    """Fingerprint of the template of its prompt."""
    by_model: int
    """The number of tasks whose statement it wrote."""
    from_tests: Mapping[str, int]
    """The number of tasks whose statement comes from their tests instead, by reason."""


@dataclass(frozen=True, slots=True)
class GymManifest:
    """What `gym.json` holds."""

    name: str
    tasks: int
    sources: tuple[GymSource, ...] = ()
    refusals: Mapping[str, int] = field(default_factory=dict)
    """The number of commits that gave no task, by reason."""
    statements: GymStatements | None = None
    """None where no language model was to be asked."""


def check_task_id(identifier: str) -> str:
    """Return the id of a task. Raises ValueError for one that git would refuse in a reference."""
    if not _TASK_ID.fullmatch(identifier):
        raise ValueError(
            f"task id {identifier!r} is refused: use letters, digits, `_`, `-` and single dots, at most 100"
        )
    return identifier


def format_task(task: GymTask) -> str:
    """Return a task as one line of `tasks.jsonl`, with a line end. Equal tasks give equal text."""
    return json.dumps(dump_task(task), sort_keys=True) + "\n"


def dump_task(task: GymTask) -> dict[str, Any]:
    """Return a task as plain data, without `statement_from` where it is None, as in gyms of earlier releases."""
    return _leave_out(typed_json.dump(task), "statement_from")


def parse_task(line: str) -> GymTask:
    """Return the task of a line of `tasks.jsonl`. Raises ValueError or TypeError that name the field."""
    task = typed_json.read(GymTask, json.loads(line))
    check_task_id(task.id)
    return task


def format_manifest(manifest: GymManifest) -> str:
    """Return the text of `gym.json`."""
    return _format_document(SCHEMA, dump_manifest(manifest))


def dump_manifest(manifest: GymManifest) -> dict[str, Any]:
    """Return a manifest as plain data, without `statements` where it is None, as in gyms of earlier releases."""
    return _leave_out(typed_json.dump(manifest), "statements")


def _leave_out(document: dict[str, Any], key: str) -> dict[str, Any]:
    """Return a document without a key that is None."""
    return {name: value for name, value in document.items() if name != key or value is not None}


def parse_manifest(text: str) -> GymManifest:
    """Return the manifest of the text of `gym.json`. Raises ValueError or TypeError that name the field."""
    return typed_json.read(GymManifest, _parse_document(SCHEMA, text))


def _format_document(schema: str, document: dict[str, Any]) -> str:
    return json.dumps({"schema": schema, **document}, indent=2, sort_keys=True) + "\n"


def _parse_document(schema: str, text: str) -> dict[str, Any]:
    document = json.loads(text)
    if not isinstance(document, dict) or document.pop("schema", None) != schema:
        raise ValueError(f'the document has no "schema": "{schema}"')
    return document
