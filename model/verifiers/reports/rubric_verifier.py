"""The verifier `rubric` grades each patch by a checklist that was written for the issue (Agentic Rubrics, arXiv 2601.04171).

One rubric serves all patches of a group, and a grading is one short request. The paper uses the score to choose the best
patch. So the verifier ranks and claims nothing; a calibrator that was fitted on its scores gives claims.
"""

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from model.domain import (
    EngineInfo,
    GroupVerdict,
    Issue,
    Patch,
    PatchId,
    PatchVerdict,
    RubricMark,
    Verdict,
    Vote,
    VoteCount,
)
from model.errors import EngineError
from model.prompts.fingerprint import combine_fingerprints, derive_seed
from model.prompts.prompt_template import Template
from model.prompts.untrusted import escape_issue
from model.protocols import Completion, Engine, Request
from model.verifiers.admission import AdmissionResult, AdmissionRules, RefusedPatch
from model.verifiers.prompt_builder import (
    CandidateGroup,
    KeepGoing,
    OnVote,
    PromptBuilder,
    add_note,
)
from model.verifiers.reports.rubric_source import VERIFIER, RubricSource
from model.verifiers.vote_sampling import VoteSampler
from model.verifiers.voting_verifier import VotingOptions, add_twin_note, build_refused_verdict
from model.voting.grouping import Candidate
from model.voting.rubric import (
    Rubric,
    combine_grades,
    compute_score,
    explain_grades,
    read_grades,
    render_rubric,
)
from model.voting.thresholds import AGREEMENT
from model.voting.votes import ENGINE_FAILED, tally

_LINE_TOKENS: Final = 48
"""Room for the grade of one line with a short reason."""
_NO_RUBRIC: Final = "No opinion: no checklist could be written for the issue"
_NO_GRADES: Final = "No opinion: no grading of the checklist could be read"


VoteKey = tuple[int, tuple[PatchId | None, ...]]
"""Seed and seats, which identify a vote."""


@dataclass(frozen=True, slots=True)
class _Grading:
    """One grading of one patch that may be put to the engine."""

    patch: PatchId
    request: Request

    @property
    def key(self) -> VoteKey:
        """The seed and the seats of this grading's vote."""
        return self.request.seed, (self.patch,)


class RubricVerifier:
    """A verifier that grades one patch per prompt by the lines of the issue's rubric.

    A vote is one grading. Each line gets the mark of most gradings, and the score is the weighted share of met lines.
    """

    def __init__(
        self,
        engine: Engine,
        template: Template,
        source: RubricSource,
        options: VotingOptions | None = None,
    ) -> None:
        """Create the verifier. `template` is the prompt of a grading, and `source` writes the rubric."""
        self._engine = engine
        self._template = template
        self._source = source
        self._options = options or VotingOptions()

    @property
    def engine(self) -> EngineInfo:
        """The engine and model, with a fingerprint of the prompts for writing and grading."""
        prompts = self._template.fingerprint, self._source.fingerprint
        fingerprint = combine_fingerprints(*prompts, VERIFIER)
        return EngineInfo(self._engine.name, self._engine.model, fingerprint)

    def verify(
        self,
        issue: Issue,
        candidates: Sequence[Patch],
        *,
        votes: int,
        earlier: Sequence[Vote] = (),
        on_vote: OnVote = lambda _done, _asked: None,
        keep_going: KeepGoing = lambda: True,
    ) -> GroupVerdict:
        """Grade each patch `votes` times more by the issue's rubric; `earlier` gradings by the same rubric count.

        The first grading is greedy, and the others are sampled. A patch is unsure without a score if there is no rubric,
        or if less than half of its weight could be graded. Raises EngineDown, Cancelled when `keep_going` returns False,
        and ValueError for two candidates with one id.
        """
        started = time.monotonic()
        sampler = VoteSampler(self._engine, self._options.sampling, keep_going)
        rubric = self._source.write(issue, sampler.complete)
        group, shown = self._build_group(issue, candidates, rubric)
        cast = {(vote.seed, vote.seats): vote for vote in earlier}
        plan = list(self._plan_gradings(group, shown, votes, cast)) if rubric else []
        wanted = [grading for grading in plan if grading.key not in cast]
        size = self._options.sampling.batch
        new: list[Vote] = []
        for start in range(0, len(wanted), size):
            new += _cast(sampler, wanted[start : start + size], len(rubric.lines) if rubric else 0)
            on_vote(len(new), len(wanted))
        counted = [*(cast[grading.key] for grading in plan if grading.key in cast), *new]
        return GroupVerdict(
            patches=tuple(
                add_note(case, _build_verdict(case, group, rubric, counted)) for case in group.cases
            ),
            engine=self.engine,
            votes=(*earlier, *new),
            asked=len(earlier) + len(new),
            partition=tuple((patch.id,) for patch in group.seated),
            tokens=sampler.tokens,
            engine_seconds=sampler.seconds,
            total_seconds=time.monotonic() - started,
        )

    def _build_group(
        self, issue: Issue, candidates: Sequence[Patch], rubric: Rubric | None
    ) -> tuple[CandidateGroup, str]:
        """Return the group, and the rubric's text for the prompt. A model's words are escaped like an issue's."""
        tokens = self._template.add_delimiters(self._engine.special_tokens)
        shown = escape_issue(render_rubric(rubric.lines if rubric else ()), tokens).text
        rules = AdmissionRules(1, self._options.edited_lines)
        room = self._count_reply_tokens(shown)
        prompts = PromptBuilder(self._engine, self._template, room, rules, {"rubric": shown})
        return CandidateGroup.from_cases(*prompts.admit(issue, candidates), VERIFIER), shown

    def _count_reply_tokens(self, shown: str) -> int:
        return min(self._options.sampling.max_tokens, _LINE_TOKENS * (1 + shown.count("\n")))

    def _plan_gradings(
        self, group: CandidateGroup, shown: str, votes: int, cast: Collection[VoteKey]
    ) -> Iterator[_Grading]:
        """Yield the gradings in `cast` that belong to this group and rubric, and `votes` more for each patch."""
        for candidate in group.seated:
            left = votes
            for number in range(votes + len(cast)):
                grading = self._build_grading(group, candidate, shown, number)
                if grading.key in cast or left > 0:
                    left -= grading.key not in cast
                    yield grading

    def _build_grading(
        self, group: CandidateGroup, candidate: Candidate, shown: str, number: int
    ) -> _Grading:
        # no rival takes part in the seed, so a patch is graded alike in every group
        seed = derive_seed(VERIFIER, group.issue, shown, f"{number}", candidate.fingerprint)
        text = group.texts[candidate.id]
        request = Request(
            self._template.render(
                issue=group.issue, patches=(text,), trajectory="", code="", rubric=shown
            ),
            max_tokens=self._count_reply_tokens(shown),
            temperature=self._options.sampling.temperature if number else 0.0,
            seed=seed,
        )
        return _Grading(candidate.id, request)


def _cast(sampler: VoteSampler, wanted: Sequence[_Grading], lines: int) -> list[Vote]:
    answers = sampler.complete([grading.request for grading in wanted])
    return [_build_vote(*pair, lines) for pair in zip(wanted, answers, strict=True)]


def _build_vote(grading: _Grading, answer: Completion | EngineError, lines: int) -> Vote:
    """Build the vote of a grading. It holds the patch correct if enough of the lines are met, whatever they weigh."""
    vote = Vote(*grading.key, None, "")
    if isinstance(answer, EngineError):
        return replace(vote, failure=f"{ENGINE_FAILED}: {answer}")
    marks = [grade.mark for grade in read_grades(answer.text, lines).values()]
    met, missed = marks.count(RubricMark.MET), marks.count(RubricMark.NOT_MET)
    if not met + missed:
        return replace(vote, reply=answer.text, failure="the reply grades no line")
    is_good = AGREEMENT.decide(met / (met + missed)) is Verdict.CORRECT
    correct = frozenset([grading.patch] if is_good else [])
    return replace(vote, reply=answer.text, correct=correct)


def _build_verdict(
    case: AdmissionResult, group: CandidateGroup, rubric: Rubric | None, counted: Sequence[Vote]
) -> PatchVerdict:
    if isinstance(case, RefusedPatch):
        return build_refused_verdict(case)
    patch = case.candidate.id
    if rubric is None:
        return PatchVerdict(patch, Verdict.UNSURE, VoteCount(), _NO_RUBRIC, case.coverage)
    seat = group.representatives[patch]
    replies = [vote.reply for vote in counted if vote.seats == (seat,) and vote.correct is not None]
    graded = combine_grades(
        rubric.lines, [read_grades(reply, len(rubric.lines)) for reply in replies]
    )
    score = compute_score(graded)
    reason = explain_grades(graded, rubric.grounds) if replies else _NO_GRADES
    return PatchVerdict(
        patch,
        Verdict.UNSURE,
        tally(counted, seat),
        add_twin_note(patch, seat, reason),
        case.coverage,
        score=score,
        rubric=graded,
    )
