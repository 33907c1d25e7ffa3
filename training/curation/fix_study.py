"""Count how many fixes of issues change tests, as R4P's preliminary study does (appendix A, figure 13; pure).

The study takes Python projects with 500 stars or more that are not in SWE-bench Verified, and their pull requests. It
keeps those that pass five filters, and counts those among them that change tests: 102,494 of 364,628, or 28.11 %. (Section
2 of the paper calls 28.11 % the share without tests. The counts of figure 13 say the opposite.) The choice of projects is
the caller's here. How the paper recognises a test is not said; `is_test_path` is ours.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from pydantic import AliasChoices, BaseModel, Field, ValidationError

from model.errors import BadDiff, BadGroups
from model.evaluation.bootstrap import Estimate
from model.evaluation.judgement_columns import to_array
from model.evaluation.rate_intervals import estimate_means, number_names
from model.patches import diff
from model.patches.diff_paths import is_test_path
from training.curation import source_filters
from training.curation.pools import Pool, PoolPatch
from training.curation.source_filters import StatementLimits
from training.curation.steps import Reason

PAPER_QUALIFIED, PAPER_TESTED = 364_628, 102_494
"""Pull requests of the paper that pass the filters, and those of them that change tests."""
_STATEMENTS = StatementLimits(
    min_characters=100, max_characters=4_000, only_ascii=True, min_words=0
)
"""Filters (i), (ii) and (v)."""
_MAX_FILES, _SUFFIX = 5, ".py"
"""Filters (iv) and (iii)."""


@dataclass(frozen=True, slots=True)
class FixStudy:
    """How many fixes of issues change tests. A fix is one patch of one issue."""

    fixes: int
    dropped: Mapping[str, int]
    """Fixes that a filter drops, by reason."""
    qualified: int
    issues: int
    """Issues of the qualified fixes."""
    tested: int
    """Qualified fixes that change at least one test."""
    share: Estimate
    """`tested` of `qualified`, with the 95 % interval over issues."""


def study_fixes(pools: Iterable[Pool]) -> FixStudy:
    """Filter the patches of all issues as the paper does, and count those that change tests."""
    dropped, issues, tested = Counter[str](), list[str](), list[bool]()
    for pool in pools:
        unfit = source_filters.find_rejection(pool, _STATEMENTS)
        for patch in pool.patches:
            paths = _list_paths(patch.diff)
            if reason := unfit or _reject_paths(paths):
                dropped[reason] += 1
            else:
                issues.append(pool.issue)
                tested.append(any(map(is_test_path, paths)))
    return FixStudy(
        dropped.total() + len(tested),
        dict(dropped),
        len(tested),
        len(set(issues)),
        sum(tested),
        _estimate_share(tested, issues),
    )


def _list_paths(text: str) -> list[str]:
    """List the paths of the changed files; empty for a text that is no diff."""
    try:
        return [file.path for file in diff.parse(text)]
    except BadDiff:
        return []


def _reject_paths(paths: list[str]) -> Reason:
    if not 1 <= len(paths) <= _MAX_FILES:
        return f"not 1 to {_MAX_FILES} files"
    if not all(path.endswith(_SUFFIX) for path in paths):
        return f"touches other files than {_SUFFIX}"
    return None


def _estimate_share(tested: list[bool], issues: list[str]) -> Estimate:
    if not tested:
        return Estimate(None, None, None)
    bins = np.zeros(len(tested), dtype=np.intp)
    return estimate_means(to_array(tested), bins, 1, number_names(issues))[0]


class _InstanceRow(BaseModel):
    instance_id: str
    repo: str
    problem_statement: str = ""
    fix: str = Field(validation_alias=AliasChoices("gold_patch", "patch"))
    test_patch: str


def parse_instance(line: str, where: str, statements: Mapping[str, str]) -> Pool:
    """Parse one JSON line of SWE-bench as an issue with one patch: the developers' fix together with its tests.

    The fix is `gold_patch` or `patch`, the tests are `test_patch`. A line without `problem_statement` takes its text from
    `statements`, which maps instance ids to texts, and has an empty one otherwise. `where` names the line in the BadGroups
    that another line raises.
    """
    try:
        row = _InstanceRow.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the line"
        raise BadGroups(
            f"{where}: {place} is wrong ({first['msg']}); an instance has instance_id, repo, "
            "gold_patch and test_patch"
        ) from error
    joined = "".join(
        text if text.endswith("\n") else f"{text}\n" for text in (row.fix, row.test_patch) if text
    )
    statement = row.problem_statement or statements.get(row.instance_id, "")
    return Pool(row.instance_id, row.repo, statement, (PoolPatch(joined, None),))
