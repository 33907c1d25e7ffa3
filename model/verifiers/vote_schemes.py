"""Three ways to show patches to a voting verifier: in groups (R4P, section 3), one at a time, and in pairs."""

from collections.abc import Sequence
from dataclasses import replace

from model.domain import PatchVerdict, Vote, VoteCount
from model.prompts.prompt_template import Template
from model.protocols import Engine
from model.verifiers.admission import AdmissionResult, RefusedPatch
from model.verifiers.prompt_builder import CandidateGroup
from model.verifiers.voting_verifier import VotingOptions, VotingVerifier, add_twin_note
from model.voting.grouping import PAIRS, SINGLY, build_group_scheme
from model.voting.reply_form import CHOICE
from model.voting.thresholds import Thresholds

_GROUPS = build_group_scheme()
_ONE_OUT = build_group_scheme(leave_one_out=True)
_NO_CLAIM = Thresholds(None, None)


class R4PVerifier(VotingVerifier):
    """A verifier that judges the patches of one issue against each other, four per prompt.

    The seats are shuffled from vote to vote. Several patches may be correct, or none.
    """

    def __init__(
        self, engine: Engine, template: Template, options: VotingOptions | None = None
    ) -> None:
        scheme = _ONE_OUT if options and options.leave_one_out else _GROUPS
        super().__init__(engine, template, scheme, options)


class PointwiseVerifier(VotingVerifier):
    """A verifier that shows one patch per prompt, without its rivals.

    It is the paper's ablation of comparison, which accepts too many wrong patches (R4P, section 5.3).
    """

    def __init__(
        self, engine: Engine, template: Template, options: VotingOptions | None = None
    ) -> None:
        super().__init__(engine, template, SINGLY, options)


class PairwiseVerifier(VotingVerifier):
    """A verifier that asks which of two patches is better; the score is the share of won comparisons.

    It exists for comparison with reward models, which know better and worse but not right and wrong: the best of several
    wrong patches wins. So it ranks patches and claims nothing until a calibrator has learnt what a share of wins is
    worth. It never stops early, because without a claim every comparison counts.

    Each pair of a part of four is shown in both orders, which takes twelve requests per vote for four patches. An engine
    that always prefers the first patch gives both patches one win of two.
    """

    def __init__(
        self, engine: Engine, template: Template, options: VotingOptions | None = None
    ) -> None:
        options = options or VotingOptions()
        sampling = replace(options.sampling, stop_early=False)
        ranking = replace(options, sampling=sampling, thresholds=_NO_CLAIM)
        super().__init__(engine, template, PAIRS, ranking, form=CHOICE)

    def _build_verdict(
        self, case: AdmissionResult, group: CandidateGroup, cast: Sequence[Vote]
    ) -> PatchVerdict:
        verdict = super()._build_verdict(case, group, cast)
        if isinstance(case, RefusedPatch) or not verdict.votes.valid:
            return verdict
        seat = group.representatives[case.candidate.id]
        return replace(verdict, reason=add_twin_note(verdict.id, seat, _explain(verdict.votes)))


def _explain(count: VoteCount) -> str:
    unread = f"; {count.none} more failed or could not be read" if count.none else ""
    return (
        f"Preferred {count.correct} of {count.valid} times over rivals{unread}. "
        "That ranks it, and does not say whether it is correct"
    )
