"""Read labelled groups from JSON lines: issues with patches whose tests have been run.

Each line is an object with `instance_id`, `repo`, `problem_statement` and `patches`. A patch has `patch` and
`resolved`, and optionally `source`, `also_from` (other sources of the same text) and `trajectory`. An issue
may have `language` and `licence` (SPDX). Other keys are ignored. A line holds either the
rivals to judge together or all known patches of the issue.
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
    """A patch with its label: whether the tests of its issue pass with it."""

    patch: Patch
    resolved: bool
    """True if the tests of the issue pass with the patch."""
    source: str | None
    """`family/run`, for analysis only. No verifier sees it and no feature uses it."""
    also_from: tuple[str, ...] = ()
    """Other sources that wrote the same text."""


@dataclass(frozen=True, slots=True)
class LabelledGroup:
    """An issue with tested patches: rivals to judge together, or all known patches of the issue."""

    instance_id: str
    """Identifier of the issue. Several groups may share it."""
    repo: str
    """`owner/name`."""
    issue: Issue
    patches: tuple[LabelledPatch, ...]
    language: str | None = None
    """Programming language of the repository, or None."""
    licence: str | None = None
    """SPDX name of the repository's licence."""

    @property
    def id(self) -> str:
        """The group's id: 16 hex digits of a hash of the issue and of its patches in order.

        Two groups of one issue have different ids unless their patches are the same.
        """
        parts = (self.instance_id, self.issue.text, *(patch.patch.diff for patch in self.patches))
        if self.has_trajectory:
            parts += tuple(patch.patch.trajectory or "" for patch in self.patches)
        return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()[:16]

    @property
    def has_trajectory(self) -> bool:
        """Whether any patch of the group has a trajectory."""
        return any(patch.patch.trajectory for patch in self.patches)


def read_groups(path: Path) -> Iterator[LabelledGroup]:
    """Yield the labelled groups of the `.jsonl` or `.jsonl.gz` file `path`, one at a time.

    The first line of `problem_statement` becomes the issue's title. Patches get the ids `candidate-1`, `candidate-2`, …
    in file order, and a missing last newline is added. Raises BadGroups, with the line and what to do, for an invalid
    line, an empty file, or a file that cannot be read.
    """
    number = 0
    for number, line in enumerate(iterate_lines(path), 1):
        if line.strip():
            yield _parse_group(line, f"{path}, line {number}")
    if not number:
        raise BadGroups(f"{path} is empty; give a file with one labelled group a line")


_Text = Annotated[str, StringConstraints(pattern=r"\S")]


def _check_unguided(trajectory: str) -> str:
    if HINT_TAG in trajectory:
        raise ValueError("was made with a hint, which no judge may see; leave it out")
    return trajectory


class _PatchRow(BaseModel, strict=True):
    patch: str
    resolved: bool
    source: str | None = None
    also_from: list[str] = []
    trajectory: Annotated[str, AfterValidator(_check_unguided)] | None = None


class _Row(BaseModel, strict=True):
    instance_id: _Text
    repo: _Text
    problem_statement: _Text
    patches: Annotated[list[_PatchRow], Field(min_length=1)]
    language: str | None = None
    licence: str | None = None


def iterate_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a `.jsonl` or `.jsonl.gz` file. Raises BadGroups, with what to do, for an unreadable file."""
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


def _parse_group(line: str, where: str) -> LabelledGroup:
    try:
        row = _Row.model_validate(json.loads(line))
    except json.JSONDecodeError as error:
        raise BadGroups(
            f"{where} is not JSON: {error.msg} at column {error.colno}; write one object a line"
        ) from error
    except ValidationError as error:
        raise BadGroups(f"{where}: {_format_first_error(error)}") from error
    title, _, body = row.problem_statement.strip().partition("\n")
    return LabelledGroup(
        instance_id=row.instance_id,
        repo=row.repo,
        issue=Issue(title.strip(), body.strip()),
        patches=tuple(_build_patch(number, patch) for number, patch in enumerate(row.patches, 1)),
        language=row.language,
        licence=row.licence,
    )


def _build_patch(number: int, row: _PatchRow) -> LabelledPatch:
    # many data sets drop the last newline, and git refuses such a diff
    ended = row.patch if not row.patch or row.patch.endswith("\n") else row.patch + "\n"
    patch = Patch(PatchId(f"candidate-{number}"), ended, row.trajectory)
    return LabelledPatch(patch, row.resolved, row.source, tuple(row.also_from))


def _format_first_error(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "the line"
    got = "" if first["type"] == "missing" else f", not {str(first['input'])[:60]!r}"
    return f"{place} is wrong ({first['msg']}{got}); a group has instance_id, repo, problem_statement, patches"
