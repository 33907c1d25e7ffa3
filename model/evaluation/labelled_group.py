"""Labelled groups from JSON lines: issues whose candidate patches somebody has tested.

One object a line: `instance_id`, `repo`, `problem_statement`, `patches` [{`patch`, `resolved`}]; a patch may name
its `source` and, with `also_from`, others who wrote the same text, and tell by `trajectory` how it came about; an issue
its `language` and its repository's `licence` (SPDX). Other keys are left alone. A group that is judged as one and a pool of every patch known for an issue have the same form.
"""

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field, StringConstraints, ValidationError

from model.domain import Issue, Patch, PatchId
from model.errors import BadGroups
from model.prompts.untrusted import HINT_TAG


@dataclass(frozen=True, slots=True)
class LabelledPatch:
    """A patch and the truth about it."""

    patch: Patch
    resolved: bool
    source: str | None
    """`family/run`, for analysis only: never shown to a verifier, never a feature."""
    also_from: tuple[str, ...] = ()
    """Further sources of the very same text."""


@dataclass(frozen=True, slots=True)
class LabelledGroup:
    """An issue with patches that were tested: rivals to be judged together, or all that are known."""

    instance_id: str
    """Names the issue; several groups may be about one."""
    repo: str
    """`owner/name`."""
    issue: Issue
    patches: tuple[LabelledPatch, ...]
    language: str | None = None
    licence: str | None = None
    """The repository's, by its SPDX name."""

    @property
    def id(self) -> str:
        """16 hex digits that differ between groups of one issue: a hash of the issue and its patches, in order."""
        parts = (self.instance_id, self.issue.text, *(one.patch.diff for one in self.patches))
        if self.has_trajectory:
            parts += tuple(one.patch.trajectory or "" for one in self.patches)
        return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()[:16]

    @property
    def has_trajectory(self) -> bool:
        """How some patch came about is known."""
        return any(one.patch.trajectory for one in self.patches)


def read(path: Path) -> Iterator[LabelledGroup]:
    """The groups of a `.jsonl` or `.jsonl.gz` file, one at a time; the first line of the statement is the title.

    Patches are called `candidate-1`, `candidate-2`, … in the file's order, and end with a newline. Raises BadGroups
    with the file, the line and what to do about it; also for a file without any group.
    """
    number = 0
    for number, line in enumerate(_lines(path), 1):
        if line.strip():
            yield _group(line, f"{path}, line {number}")
    if not number:
        raise BadGroups(f"{path} is empty; give a file with one labelled group a line")


_Text = Annotated[str, StringConstraints(pattern=r"\S")]


def _unguided(trajectory: str) -> str:
    if HINT_TAG in trajectory:
        raise ValueError("was made with a hint, which no judge may see; leave it out")
    return trajectory


class _PatchRow(BaseModel, strict=True):
    patch: str
    resolved: bool
    source: str | None = None
    also_from: list[str] = []
    trajectory: Annotated[str, AfterValidator(_unguided)] | None = None


class _Row(BaseModel, strict=True):
    instance_id: _Text
    repo: _Text
    problem_statement: _Text
    patches: Annotated[list[_PatchRow], Field(min_length=1)]
    language: str | None = None
    licence: str | None = None


def _lines(path: Path) -> Iterator[str]:
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8") as lines:
            yield from lines
    except UnicodeDecodeError as error:
        raise BadGroups(f"{path} is not UTF-8 text; give .jsonl, or .jsonl.gz") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise BadGroups(
            f"{path} is no whole gzip file ({error}); fetch or pack it again"
        ) from error
    except OSError as error:
        raise BadGroups(
            f"{path} can't be read: {error.strerror}; give a file of labelled groups"
        ) from error


def _group(line: str, where: str) -> LabelledGroup:
    try:
        row = _Row.model_validate(json.loads(line))
    except json.JSONDecodeError as error:
        raise BadGroups(
            f"{where} is not JSON: {error.msg} at column {error.colno}; write one object a line"
        ) from error
    except ValidationError as error:
        raise BadGroups(f"{where}: {_first(error)}") from error
    title, _, body = row.problem_statement.strip().partition("\n")
    return LabelledGroup(
        instance_id=row.instance_id,
        repo=row.repo,
        issue=Issue(title.strip(), body.strip()),
        patches=tuple(_patch(number, one) for number, one in enumerate(row.patches, 1)),
        language=row.language,
        licence=row.licence,
    )


def _patch(number: int, row: _PatchRow) -> LabelledPatch:
    # without its last newline, as many data sets hold it, git refuses a diff
    ended = row.patch if not row.patch or row.patch.endswith("\n") else row.patch + "\n"
    patch = Patch(PatchId(f"candidate-{number}"), ended, row.trajectory)
    return LabelledPatch(patch, row.resolved, row.source, tuple(row.also_from))


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "the line"
    got = "" if first["type"] == "missing" else f", not {str(first['input'])[:60]!r}"
    return f"{place} is wrong ({first['msg']}{got}); a group has instance_id, repo, problem_statement, patches"
