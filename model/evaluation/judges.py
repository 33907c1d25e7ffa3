"""Who judges labelled groups: every verifier of the catalogue, each told only what it may know."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

from model import catalog
from model.catalog import EngineChoice, VotingChoice
from model.domain import EngineInfo, GroupVerdict
from model.errors import BadGroups
from model.evaluation.groups import LabelledGroup
from model.evaluation.judged import JudgedGroup, Key, judged
from model.protocols import Engine, Verifier

CONSENSUS = "consensus"
"""The verifier that was trained on labelled issues, and so is asked by fits that did not see the one in question."""
COPIES_ARE_ONE = ", copies one opinion"
BLOCKS_HELD_OUT = "blocks of issues held out"
ONE_OUT = "-leave-one-out"
"""How a verifier is called in its runs when its votes leave one out."""
STRICT = "-strict"
"""How its twin is called that knows no issue of the same repository."""


@dataclass(frozen=True, slots=True)
class Judge:
    """One verifier, one engine and one number of votes: what runs are compared by."""

    verifier: str
    engine: EngineInfo
    votes: int
    verify: Callable[[LabelledGroup], GroupVerdict]

    def key(self, group: LabelledGroup) -> Key:
        """Under which the judgement of this group is kept."""
        return Key(group.id, self.verifier, self.engine, self.votes)

    def judge(self, group: LabelledGroup) -> JudgedGroup:
        """The group judged now. Raises EngineDown."""
        return judged(group, self.verify(group), self.key(group))


def check(name: str, groups: Sequence[LabelledGroup]) -> None:
    """Refuse groups that lack what the verifier is to be measured by. Raises BadGroups, UnknownVerifier."""
    wanted = catalog.TRAJECTORY in catalog.composition(name)
    if wanted and not any(group.has_trajectory for group in groups):
        raise BadGroups(
            f"verifier {name} looks at trajectories, and none of the {len(groups)} groups has one; give the text "
            "as `trajectory` of a patch, or measure yes-no"
        )


@contextmanager
def opened(
    name: str,
    choice: EngineChoice,
    votes: int,
    *,
    independent: bool = True,
    leave_one_out: bool = False,
) -> Iterator[tuple[Judge, ...]]:
    """The verifier of that name on the chosen engine, which is closed afterwards; beside consensus its strict twin.

    Consensus counts copies as agreement only among `independent` authors. Raises EngineDown, TemplateError,
    UnknownVerifier, and BadChoice where there is nobody to leave out.
    """
    voting = VotingChoice(leave_one_out=leave_one_out)
    catalog.check(name, voting)
    names = catalog.composition(name)
    called = name + ONE_OUT if leave_one_out else name
    if names == (CONSENSUS,):
        yield tuple(consensus(strict=strict, independent=independent) for strict in (False, True))
        return
    with closing(catalog.engine(choice)) as engine:
        if CONSENSUS not in names:
            yield (ordinary(called, catalog.verifier(name, engine, voting=voting), votes),)
            return
        parts = [None if one == CONSENSUS else _part(one, engine, voting) for one in names]
        yield (composed(called, parts, votes, independent=independent),)


def _part(name: str, engine: Engine, voting: VotingChoice) -> Verifier:
    """One of two, where the other may be the one that shows groups."""
    fits = name in catalog.SHOWING_RIVALS
    return catalog.verifier(name, engine, voting=voting if fits else VotingChoice())


def ordinary(name: str, verifier: Verifier, votes: int) -> Judge:
    """A judge that shows its verifier the issue and the patches, and nothing else of a labelled group."""

    def verify(group: LabelledGroup) -> GroupVerdict:
        return verifier.verify(group.issue, [one.patch for one in group.patches], votes=votes)

    return Judge(name, verifier.engine, votes, verify)


def consensus(*, strict: bool, independent: bool = True) -> Judge:
    """Each group judged by a fit that never saw its block of issues; with `strict`, nothing of its repository."""
    from model.verifiers import consensus as verifiers

    def verify(group: LabelledGroup) -> GroupVerdict:
        unseeing = verifiers.unseeing(
            group.repo, group.instance_id, strict=strict, independent=independent
        )
        return unseeing.verify(group.issue, [one.patch for one in group.patches])

    held_out = "whole repositories held out" if strict else BLOCKS_HELD_OUT
    held_out += "" if independent else COPIES_ARE_ONE
    engine = replace(verifiers.shipped().engine, model=held_out)
    return Judge(f"{CONSENSUS}{STRICT if strict else ''}", engine, 0, verify)


def composed(
    name: str, parts: Sequence[Verifier | None], votes: int, *, independent: bool = True
) -> Judge:
    """A hybrid of two; None is consensus, in whose place stands the fit that never saw the group's block."""
    from model.verifiers import consensus as verifiers
    from model.verifiers.hybrid import HybridVerifier

    def with_fit(fit: Verifier) -> HybridVerifier:
        first, second = (one or fit for one in parts)
        return HybridVerifier(first, second)

    def verify(group: LabelledGroup) -> GroupVerdict:
        hybrid = with_fit(
            verifiers.unseeing(group.repo, group.instance_id, independent=independent)
        )
        return hybrid.verify(group.issue, [one.patch for one in group.patches], votes=votes)

    held_out = BLOCKS_HELD_OUT + ("" if independent else COPIES_ARE_ONE)
    models = [one.engine.model if one else held_out for one in parts]
    engine = replace(with_fit(verifiers.shipped()).engine, model=" + ".join(models))
    return Judge(name, engine, votes, verify)


def caution(name: str, groups: Sequence[LabelledGroup | JudgedGroup]) -> str | None:
    """What a person must know before believing the metrics; None for nothing."""
    if CONSENSUS not in catalog.composition(name):
        return None
    from model import consensus as learnt

    artefact = learnt.shipped()
    fits = [artefact.fit_for(group.repo, group.instance_id).name for group in groups]
    if not (known := fits.count(learnt.EVERYTHING)):
        return None
    return (
        f"{known} of {len(fits)} groups lie outside the blocks that were held out: the fit on all labelled issues judged "
        "them. Their metrics are honest only if consensus never learnt from these issues."
    )
