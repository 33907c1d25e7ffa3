"""Read issues of SWE-bench: the true patch, the tests that decide, and the patches of agents with their labels."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

from model.errors import BadGroups
from model.evaluation.labelled_group import LabelledGroup, LabelledPatch, iterate_lines, read_groups


@dataclass(frozen=True, slots=True)
class BenchmarkIssue:
    """An issue with its true patch, its tests and labelled patches."""

    id: str
    """SWE-bench's `instance_id`, such as `django__django-14559`."""
    repository: str
    base_commit: str
    statement: str
    true_patch: str
    test_patch: str
    fail_to_pass: tuple[str, ...]
    """Names of tests as the benchmark writes them: `method (module.Class)`, or the first line of a docstring."""
    candidates: tuple[LabelledPatch, ...]

    @property
    def number(self) -> int:
        """The number of the pull request that resolved the issue."""
        return int(self.id.rpartition("-")[2])


class _Instance(BaseModel, strict=True):
    instance_id: str
    repo: str
    base_commit: str
    gold_patch: str
    test_patch: str
    FAIL_TO_PASS: list[str]


def read_issues(instances: Path, patches: Path, repository: str) -> list[BenchmarkIssue]:
    """Return the issues of one repository that both files hold, the newest first. Raises BadGroups."""
    groups = {group.instance_id: group for group in read_groups(patches)}
    rows = [row for row in _read_instances(instances) if row.repo == repository]
    issues = [
        _build_issue(row, groups[row.instance_id]) for row in rows if row.instance_id in groups
    ]
    if not issues:
        raise BadGroups(
            f"{instances} and {patches} share no issue of {repository}; name another --repository"
        )
    return sorted(issues, key=lambda issue: issue.number, reverse=True)


def _read_instances(path: Path) -> Iterator[_Instance]:
    for number, line in enumerate(iterate_lines(path), 1):
        try:
            yield _Instance.model_validate(json.loads(line))
        except (json.JSONDecodeError, ValidationError) as error:
            reason = str(error).splitlines()[:3]
            raise BadGroups(
                f"{path}, line {number} is no instance of SWE-bench: {' '.join(reason)}"
            ) from error


def _build_issue(row: _Instance, group: LabelledGroup) -> BenchmarkIssue:
    return BenchmarkIssue(
        row.instance_id,
        row.repo,
        row.base_commit,
        group.issue.text,
        row.gold_patch,
        row.test_patch,
        tuple(row.FAIL_TO_PASS),
        group.patches,
    )


def count_candidates(issues: Sequence[BenchmarkIssue]) -> int:
    """Return the number of labelled patches of all issues."""
    return sum(len(issue.candidates) for issue in issues)
