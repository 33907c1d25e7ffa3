"""Leave out patches that change nothing but comments or tests, as R4P does in its evaluation data (pure).

R4P, appendix B.3, removes "the empty patches and patches that has meaningless modifications (e.g., only comments or
tests are chagned)". The paper gives no rule to recognise them. This one is ours.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from model.evaluation.labelled_group import LabelledGroup
from model.patches.diff_paths import is_test_path
from model.patches.edits import read_edit

_BEYOND_LINES = re.compile(
    r"^(?:rename to |copy to |new mode |Binary files |GIT binary patch)", re.MULTILINE
)
"""Changes of a git diff that no line shows. Lines of a hunk begin with another character."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What was left out of the labelled groups of a file."""

    patches: int
    """Number of trivial patches."""
    groups: int
    """Number of groups without any other patch."""


def is_trivial(diff: str) -> bool:
    """Whether a unified diff is empty, or changes only comments, docstrings, blank lines and tests.

    A text without any changed file, a rename and a binary change are not trivial.
    """
    if not diff.strip():
        return True
    edit = read_edit(diff)
    if not edit.files or _BEYOND_LINES.search(diff):
        return False
    return all(map(is_test_path, edit.code_files))


def leave_out_trivial(groups: Iterable[LabelledGroup]) -> tuple[list[LabelledGroup], LeftOut]:
    """Return the groups without trivial patches, and what was left out. The other patches keep their ids."""
    kept, patches, emptied = list[LabelledGroup](), 0, 0
    for group in groups:
        rest = tuple(patch for patch in group.patches if not is_trivial(patch.patch.diff))
        patches += len(group.patches) - len(rest)
        emptied += not rest
        kept += [replace(group, patches=rest)] if rest else []
    return kept, LeftOut(patches, emptied)
