"""Who judges labelled groups: every verifier of the catalogue, each told only what it may know."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

from model import catalog
from model.catalog import EngineChoice
from model.domain import EngineInfo, GroupVerdict
from model.evaluation.groups import LabelledGroup
from model.evaluation.judged import JudgedGroup, Key, judged
from model.protocols import Verifier

CONSENSUS = "consensus"
"""The verifier that was trained on labelled issues, and so is asked by fits that did not see the one in question."""
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


def check(name: str) -> None:
    """Raises UnknownVerifier, before anything is read or loaded."""
    if name != CONSENSUS:
        catalog.composition(name)


@contextmanager
def opened(name: str, choice: EngineChoice, votes: int) -> Iterator[tuple[Judge, ...]]:
    """The verifier of that name on the chosen engine, which is closed afterwards; beside consensus its strict twin.

    Raises EngineDown, TemplateError.
    """
    if name == CONSENSUS:
        yield consensus(strict=False), consensus(strict=True)
        return
    with closing(catalog.engine(choice)) as engine:
        yield (ordinary(name, catalog.verifier(name, engine), votes),)


def ordinary(name: str, verifier: Verifier, votes: int) -> Judge:
    """A judge that shows its verifier the issue and the patches, and nothing else of a labelled group."""

    def verify(group: LabelledGroup) -> GroupVerdict:
        return verifier.verify(group.issue, [one.patch for one in group.patches], votes=votes)

    return Judge(name, verifier.engine, votes, verify)


def consensus(*, strict: bool) -> Judge:
    """Each group judged by a fit that never saw its block of issues; with `strict`, nothing of its repository."""
    from model.verifiers import consensus as verifiers

    def verify(group: LabelledGroup) -> GroupVerdict:
        unseeing = verifiers.unseeing(group.repo, group.instance_id, strict=strict)
        return unseeing.verify(group.issue, [one.patch for one in group.patches])

    held_out = "whole repositories held out" if strict else "blocks of issues held out"
    shipped = verifiers.shipped().engine
    engine = EngineInfo(shipped.name, held_out, shipped.prompt_fingerprint)
    return Judge(f"{CONSENSUS}{STRICT if strict else ''}", engine, 0, verify)


def caution(name: str, groups: Sequence[LabelledGroup]) -> str | None:
    """What a person must know before believing the metrics; None for nothing."""
    if name != CONSENSUS:
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
