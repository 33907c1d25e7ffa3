"""Verifiers whose model writes a report about one patch with a decision in it: a review, or a simulated test report.

They serve the released judges SWE-Review (arXiv 2607.06065) and SWE-World's reward model (arXiv 2602.03419).
"""

from collections.abc import Sequence
from dataclasses import replace

from model.domain import PatchVerdict, Vote
from model.prompts.prompt_template import Template
from model.protocols import Engine
from model.verifiers.admission import AdmissionResult, RefusedPatch
from model.verifiers.prompt_builder import CandidateGroup
from model.verifiers.vote_sampling import Sampling
from model.verifiers.voting_verifier import VotingOptions, VotingVerifier, add_twin_note
from model.voting.grouping import SINGLY
from model.voting.reply_form import REVIEW, TEST_REPORT, ReplyForm
from model.voting.votes import EXCERPT_CHARACTERS


class ReportVerifier(VotingVerifier):
    """A verifier that shows one patch per prompt and reads the decision in a report. The score is the share of yes."""

    def __init__(
        self,
        engine: Engine,
        template: Template,
        form: ReplyForm,
        options: VotingOptions | None = None,
    ) -> None:
        """Create the verifier. `form` reads the reports."""
        longer = _widen_replies(options or VotingOptions(), form.tokens, engine.context_tokens)
        super().__init__(engine, template, replace(SINGLY, name=form.name), longer, form=form)

    def _build_verdict(
        self, case: AdmissionResult, group: CandidateGroup, cast: Sequence[Vote]
    ) -> PatchVerdict:
        verdict = super()._build_verdict(case, group, cast)
        if isinstance(case, RefusedPatch) or not verdict.votes.valid:
            return verdict
        seat = group.representatives[case.candidate.id]
        text = f"{verdict.votes.correct} of {verdict.votes.valid} reports hold it correct"
        if quoted := self._quote_majority(seat, verdict, cast):
            text = f"{text}. {quoted}"
        return replace(verdict, reason=add_twin_note(verdict.id, seat, text))

    def _quote_majority(self, seat: str, verdict: PatchVerdict, cast: Sequence[Vote]) -> str:
        """Return the reasons of the first report that agrees with most of them, cut at a word."""
        if self._form.quote is None:
            return ""
        wins = 2 * verdict.votes.correct > verdict.votes.valid
        replies = (
            vote.reply
            for vote in cast
            if vote.seats == (seat,) and vote.correct is not None and bool(vote.correct) == wins
        )
        reply = next(replies, None)
        text = self._form.quote(reply) if reply is not None else ""
        if len(text) <= EXCERPT_CHARACTERS:
            return text
        return text[: EXCERPT_CHARACTERS - 1].rsplit(" ", 1)[0] + "…"


class ReviewVerifier(ReportVerifier):
    """A verifier that reads a review of one patch, as SWE-Review's judges write it when they see no checkout."""

    def __init__(
        self, engine: Engine, template: Template, options: VotingOptions | None = None
    ) -> None:
        super().__init__(engine, template, REVIEW, options)


class SimulatedTestVerifier(ReportVerifier):
    """A verifier that reads a simulated test report about one patch, as SWE-World's reward model writes it."""

    def __init__(
        self, engine: Engine, template: Template, options: VotingOptions | None = None
    ) -> None:
        super().__init__(engine, template, TEST_REPORT, options)


def _widen_replies(options: VotingOptions, tokens: int, context_tokens: int) -> VotingOptions:
    """Return the options with room for `tokens` in a reply, at most half of the engine's context.

    A limit other than the default one is a choice of the caller's, and stays.
    """
    default = Sampling().max_tokens
    if options.sampling.max_tokens != default:
        return options
    most = max(default, min(tokens, context_tokens // 2))
    return replace(options, sampling=replace(options.sampling, max_tokens=most))
