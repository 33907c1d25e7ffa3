"""Draw the sets of K candidates that a verifier judges, and count what they cost (pure)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from model import catalog
from model.errors import BadGroups, IncompatibleOptions
from model.evaluation.labelled_group import LabelledGroup
from model.evaluation.regrouping import draw_candidates, join_issues
from model.voting.grouping import compute_part_sizes

DRAWS = 4
"""Most sets of one issue at one K, unless `--draws` says otherwise."""


@dataclass(frozen=True, slots=True)
class CandidateSets:
    """The sets of candidates that are drawn from issues, for each K."""

    issues: int
    """Number of issues in the file."""
    draws: int
    """Most sets of one issue at one K."""
    sets: Mapping[int, Sequence[LabelledGroup]]
    """The drawn sets by K, in ascending order of K."""

    @property
    def to_judge(self) -> list[LabelledGroup]:
        """The sets that a verifier has to judge, each once. A single candidate is chosen without a judgement."""
        drawn = (group for size, groups in self.sets.items() if size > 1 for group in groups)
        return list({group.id: group for group in drawn}.values())

    def count_requests(self, verifier: str, votes: int) -> int:
        """Count the requests to the engine for all sets, by `count_requests`."""
        return sum(count_requests(verifier, len(group.patches), votes) for group in self.to_judge)


def parse_sizes(text: str) -> tuple[int, ...]:
    """Parse the values of K in `text`, such as `1,2,4,8,16`, into ascending numbers. Raises IncompatibleOptions."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) for part in parts):
        raise IncompatibleOptions(
            f"--best-of {text} is no list of numbers from 1 up; write it as in --best-of 1,2,4,8,16"
        )
    return tuple(sorted({int(part) for part in parts}))


def draw_sets(groups: Sequence[LabelledGroup], sizes: Sequence[int], draws: int) -> CandidateSets:
    """Draw at most `draws` sets of each size from the candidates of each issue. Size 1 takes every candidate once.

    Raises BadGroups when no issue has as many candidates as the smallest size.
    """
    issues = join_issues(groups)
    largest = max(len(issue.patches) for issue in issues)
    if largest < min(sizes):
        raise BadGroups(
            f"no issue has {min(sizes)} candidates, the most are {largest}; give a smaller number to --best-of"
        )
    return CandidateSets(
        len(issues),
        draws,
        {
            size: [
                drawn
                for issue in issues
                for drawn in draw_candidates(issue, size, draws if size > 1 else len(issue.patches))
            ]
            for size in sizes
        },
    )


def count_requests(verifier: str, size: int, votes: int) -> int:
    """Count the requests to the engine with which a verifier judges `size` candidates, by `votes` votes.

    The first part of a hybrid may leave fewer candidates to the second, which is counted for all. Candidates with equal
    edits share a request. A reply without an answer is continued by one more request, and a candidate that is too long
    for its rivals has requests of its own. These are not counted. Raises UnknownVerifier.
    """
    parts = compute_part_sizes(size)
    # Every pair of a part is shown in both orders; a candidate that is alone is shown beside an empty patch.
    pairs = sum(part * (part - 1) or 1 for part in parts)
    requests = {
        "r4p": votes * len(parts),
        # The second round shows the candidates that passed in one prompt.
        "r4p-two-rounds": votes * (len(parts) + 1),
        "pointwise": votes * size,
        **dict.fromkeys(catalog.REPORT_VERIFIERS, votes * size),
        "pairwise": votes * pairs,
        "swiss": votes * size if size > 1 else 0,
        "rubric": votes * size + 1,
        **dict.fromkeys(catalog.ENGINELESS_VERIFIERS, 0),
    }
    # All others, such as yes-no, ask once about each candidate.
    return sum(requests.get(name, size) for name in catalog.parse_verifier_name(verifier))
