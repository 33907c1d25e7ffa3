"""Who judges labelled groups: every verifier of the catalogue, each told only what it may know."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

from model import catalog
from model.calibration.calibrator_file import KeptCalibrator
from model.catalog import EngineChoice, VotingChoice
from model.domain import EngineInfo, GroupVerdict
from model.errors import BadGroups
from model.evaluation.judged_group import JudgedGroup, Key, judged
from model.evaluation.labelled_group import LabelledGroup
from model.protocols import Engine, Verifier
from model.verifiers.admission import ALL, Rules

CONSENSUS = "consensus"
"""The verifier that was trained on labelled issues, and so is asked by fits that did not see the one in question."""
COPIES_ARE_ONE = ", copies one opinion"
BLOCKS_HELD_OUT = "blocks of issues held out"
REPOSITORIES_HELD_OUT = "whole repositories held out"
ONE_OUT = "-leave-one-out"
"""How a verifier is called in its runs when its votes leave one out."""
MIN_LINES = "-min-lines-"
"""How it is called when it judges no shorter patch; behind it stands the number."""
STRICT = "-strict"
"""How its twin is called that knows no issue of the same repository."""
CALIBRATED = "-calibrated-"
"""How it is called when a calibrator weighs what it says; behind it stands that one's digest."""
_WAYS = re.compile(f"({ONE_OUT})?({MIN_LINES}[0-9]+)?({CALIBRATED}[0-9a-f]+)?({STRICT})?$")


def called(name: str, voting: VotingChoice, by: KeptCalibrator | None = None) -> str:
    """How a verifier that judges in such a way is called in its runs, so that none stands for another."""
    shorter = f"{MIN_LINES}{voting.edited_lines}" if voting.edited_lines else ""
    weighed = f"{CALIBRATED}{by.digest}" if by else ""
    return name + ONE_OUT * voting.leave_one_out + shorter + weighed


def is_calibrated(verifier: str) -> bool:
    """Whether a calibrator weighed what is called so in a run."""
    return CALIBRATED in verifier


def plain(verifier: str) -> str:
    """The name in the catalogue of who is called so in a run."""
    return _WAYS.sub("", verifier, count=1)


@dataclass(frozen=True, slots=True)
class Judge:
    """One verifier, one engine and one number of votes: what runs are compared by."""

    verifier: str
    engine: EngineInfo
    votes: int
    verify: Callable[[LabelledGroup], GroupVerdict]
    calibrated: bool = False
    """Its verdicts have probabilities where there is evidence."""

    def key(self, group: LabelledGroup) -> Key:
        """Under which the judgement of this group is kept."""
        return Key(group.id, self.verifier, self.engine, self.votes)

    def judge(self, group: LabelledGroup) -> JudgedGroup:
        """The group judged now. Raises EngineDown."""
        verdict = self.verify(group)
        return judged(group, verdict, self.key(group), calibrated=self.calibrated)


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
    voting: VotingChoice,
    *,
    independent: bool = True,
    by: KeptCalibrator | None = None,
) -> Iterator[tuple[Judge, ...]]:
    """The verifier of that name on the chosen engine, which is closed afterwards; beside consensus its strict twin.

    Consensus counts copies as agreement only among `independent` authors. Verdicts are weighed `by` a calibrator, if
    one is given. Raises EngineDown, TemplateError, UnknownVerifier, and BadChoice where there is nobody to leave out
    or the calibrator is another judge's.
    """
    with _uncalibrated(name, choice, votes, voting, independent=independent) as asked:
        if by is None:
            yield asked
            return
        new, rules = called(name, voting, by), Rules(edited_lines=voting.edited_lines)
        yield tuple(weighed(one, by, new, independent=independent, rules=rules) for one in asked)


@contextmanager
def _uncalibrated(
    name: str, choice: EngineChoice, votes: int, voting: VotingChoice, *, independent: bool
) -> Iterator[tuple[Judge, ...]]:
    catalog.check(name, voting)
    names = catalog.composition(name)
    name_of_runs, rules = called(name, voting), Rules(edited_lines=voting.edited_lines)
    if catalog.VOTING.isdisjoint(names):
        votes = 1  # whose answer is always the same is asked once, and its runs are of one judge
    if names == (CONSENSUS,):
        yield tuple(
            consensus(name_of_runs, strict=strict, independent=independent, rules=rules)
            for strict in (False, True)
        )
        return
    with closing(catalog.engine(choice)) as engine:
        if CONSENSUS not in names:
            yield (ordinary(name_of_runs, catalog.verifier(name, engine, voting=voting), votes),)
            return
        parts = [None if one == CONSENSUS else _part(one, engine, voting) for one in names]
        yield (composed(name_of_runs, parts, votes, independent=independent, rules=rules),)


def _part(name: str, engine: Engine, voting: VotingChoice) -> Verifier:
    """One of two, where the other may be the one that shows groups."""
    without = replace(voting, leave_one_out=False)
    fits = name in catalog.SHOWING_RIVALS
    return catalog.verifier(name, engine, voting=voting if fits else without)


def weighed(
    judge: Judge, by: KeptCalibrator, name: str, *, independent: bool = True, rules: Rules = ALL
) -> Judge:
    """The judge under its new name, with probabilities; beside votes, consensus is heard that never saw the issue.

    Raises BadChoice for one whom the calibrator was not fitted for.
    """
    by.check(everyday(judge.engine))
    strict = judge.verifier.endswith(STRICT)
    beside = consensus(strict=strict, independent=independent, rules=rules).verify

    def verify(group: LabelledGroup) -> GroupVerdict:
        return by.weigh(judge.verify(group), lambda: beside(group))

    return Judge(name + STRICT * strict, judge.engine, judge.votes, verify, calibrated=True)


def everyday(engine: EngineInfo) -> EngineInfo:
    """Who that is where nothing has to be held out from consensus: whom the bot and `r4p verify` ask."""
    from model.verifiers import consensus as verifiers

    everything = verifiers.shipped().engine.model
    model = engine.model.replace(COPIES_ARE_ONE, "")
    for held_out in (BLOCKS_HELD_OUT, REPOSITORIES_HELD_OUT):
        model = model.replace(held_out, everything)
    return replace(engine, model=model)


def ordinary(name: str, verifier: Verifier, votes: int) -> Judge:
    """A judge that shows its verifier the issue and the patches, and nothing else of a labelled group."""

    def verify(group: LabelledGroup) -> GroupVerdict:
        return verifier.verify(group.issue, [one.patch for one in group.patches], votes=votes)

    return Judge(name, verifier.engine, votes, verify)


def consensus(
    name: str = CONSENSUS, *, strict: bool, independent: bool = True, rules: Rules = ALL
) -> Judge:
    """Each group judged by a fit that never saw its block of issues; with `strict`, nothing of its repository."""
    from model.verifiers import consensus as verifiers

    def verify(group: LabelledGroup) -> GroupVerdict:
        unseeing = verifiers.unseeing(
            group.repo, group.instance_id, strict=strict, independent=independent, rules=rules
        )
        return unseeing.verify(group.issue, [one.patch for one in group.patches])

    held_out = REPOSITORIES_HELD_OUT if strict else BLOCKS_HELD_OUT
    held_out += "" if independent else COPIES_ARE_ONE
    engine = replace(verifiers.shipped().engine, model=held_out)
    return Judge(name + STRICT * strict, engine, 0, verify)


def composed(
    name: str,
    parts: Sequence[Verifier | None],
    votes: int,
    *,
    independent: bool = True,
    rules: Rules = ALL,
) -> Judge:
    """A hybrid of two; None is consensus, in whose place stands the fit that never saw the group's block."""
    from model.verifiers import consensus as verifiers
    from model.verifiers.hybrid import HybridVerifier

    def with_fit(fit: Verifier) -> HybridVerifier:
        first, second = (one or fit for one in parts)
        return HybridVerifier(first, second)

    def verify(group: LabelledGroup) -> GroupVerdict:
        hybrid = with_fit(
            verifiers.unseeing(group.repo, group.instance_id, independent=independent, rules=rules)
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
    from model.rivals import consensus_model as learnt

    artefact = learnt.shipped()
    fits = [artefact.fit_for(group.repo, group.instance_id).name for group in groups]
    if not (known := fits.count(learnt.EVERYTHING)):
        return None
    return (
        f"{known} of {len(fits)} groups lie outside the blocks that were held out: the fit on all labelled issues judged "
        "them. Their metrics are honest only if consensus never learnt from these issues."
    )
