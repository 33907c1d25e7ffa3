"""Agentless Mini: locate, repair, vote; no loop and no tool (SWE-RL, appendix B; the prompts are ours).

Each sample of suspicious files is a set; equal ones count once, and none is mixed with another, as in the paper. Edits
of whole files are sampled from the sets in turns; of the patches that come of it the most frequent wins, equal ones
told by `choice`. Of equally frequent ones the first sampled wins: it comes from the set that more samples located.
Tests that a patch has to pass would stand before the vote: that is `keep`.
"""

import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from model.agents.agentless.file_localisation import (
    Located,
    Paths,
    dealt,
    distinct,
    outline,
    read_paths,
)
from model.agents.agentless.full_files import FullFiles, fitting
from model.agents.agentless.prompt_sampling import Read, Sample, Sampler, dropped
from model.agents.agentless.repair import Repairs
from model.agents.agentless.search_replace import shown
from model.agents.attempt_selection import choice
from model.agents.tools.toolbox import Desk
from model.agents.trajectories import attempt_record
from model.agents.trajectories import guidance as hints
from model.agents.trajectories.attempt_record import Brief, Course, Ended
from model.agents.trajectories.guidance import Guidance
from model.agents.trajectories.trajectory import Attempt, Limits, Step, Stop
from model.domain import EngineInfo, Issue, Patch, PatchId
from model.prompts import prompt_template
from model.prompts.untrusted import safe_issue, safe_patch
from model.protocols import Engine, Message
from model.verifiers.prompt_builder import mixed_fingerprint

Keep = Callable[[Sequence[Patch]], Sequence[Patch]]

_SPARE_TOKENS = 64
"""For the chat template's own marks, and for texts that count differently joined than apart."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is sampled."""

    localisations: int = 4
    repairs: int = 16
    files: int = 4
    """That one localisation may name."""
    batch: int = 16
    """Requests handed to the engine at once; each is told what is left of the time."""


@dataclass(frozen=True, slots=True)
class _Task:
    """What one attempt is about."""

    issue: Issue
    desk: Desk
    shared: Mapping[str, str]
    """Of all prompts: the issue and the hint, safe to show."""
    count: Callable[[str], int]


class AgentlessMini:
    """Proposes patches through an engine; nothing of the tree is run."""

    name = "agentless-mini"

    def __init__(
        self,
        engine: Engine,
        *,
        limits: Limits | None = None,
        plan: Plan | None = None,
        keep: Keep | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`keep` is given all candidates, equal ones too, and returns those that may win, in any order of its own.

        Whom it kept is recorded. None: no filter, all may win.
        """
        self._engine = engine
        self._plan = plan or Plan()
        self._limits = replace(
            limits or Limits(),
            rounds=self._plan.localisations + self._plan.repairs,
            tokens=engine.context_tokens,
        )
        self._keep = keep
        self._clock = clock
        self._locate = prompt_template.load("agentless_locate")
        self._repair = prompt_template.load("agentless_repair")
        spoken = mixed_fingerprint(self._locate.fingerprint, self._repair.fingerprint)
        self._speaker = EngineInfo(engine.name, engine.model, spoken)

    def propose(
        self,
        issue: Issue,
        desk: Desk,
        *,
        seed: int,
        guidance: Guidance | None = None,
        on_step: Callable[[Step], None] = lambda _step: None,
    ) -> Attempt:
        """One attempt, which leaves the desk as it was; a failing engine is a stop, its patches so far are lost.

        Out of time, those that there are are voted on.
        """
        brief = Brief(self.name, self._speaker, issue, desk.tree, seed, guidance)
        sampler = Sampler(self._engine, self._limits, self._plan.batch, seed, self._clock, on_step)
        hint = hints.shown(guidance) if guidance else ""
        task = _Task(
            issue, desk, {"issue": safe_issue(issue.text).text, "hint": hint}, sampler.count
        )
        kept: list[PatchId] | None = None
        try:
            sets = distinct(sampler.values(self._localisations(task)))
            candidates = sampler.values(self._repairs(task, sets))
            kept = self._kept(candidates)
            end = Ended(Stop.SUBMITTED, patch=_winner(candidates, kept))
        except Ended as ended:
            end = ended
        setting = {"plan": asdict(self._plan), "counts": sampler.counts, "kept": kept}
        course = Course(
            self._limits, tuple(sampler.steps), sampler.since, setting=json.dumps(setting)
        )
        return attempt_record.attempt(brief, course, end)

    def _localisations(self, task: _Task) -> list[Sample[Located]]:
        """What to ask for suspicious files. Raises Ended where nothing of the tree fits beside the issue."""
        paths, most = task.desk.snapshot.paths(), f"{self._plan.files}"
        room = self._room(self._locate.render(**task.shared, most=most, tree=""), task.count)
        tree = outline(paths, task.issue.text, room, task.count)
        if not tree.listed:
            raise Ended(
                Stop.TOKENS, failure=f"of {tree.folded:,} source files none fits beside the issue"
            )
        prompt = self._locate.render(**task.shared, most=most, tree=tree.text)
        known = frozenset(paths)

        def read(reply: str) -> Read[Located]:
            found = read_paths(reply, known, self._plan.files)
            if found.paths:
                return found, asdict(found)
            return None, asdict(found) | dropped("no_file", "no file of the tree is named")

        return [Sample("locate", prompt, read)] * self._plan.localisations

    def _repairs(self, task: _Task, sets: Sequence[Paths]) -> list[Sample[Patch]]:
        """What to ask for edits. Raises Ended where no located file can be shown."""
        skeleton = self._repair.render(**task.shared, paths=(), files=(), left_out="")
        room = self._room(skeleton, task.count)
        files = [fitting(task.desk.workspace, paths, room, task.count) for paths in sets]
        usable = [place for place, one in enumerate(files) if one.texts]
        if not usable:
            why = "; ".join(
                f"{path}: {said}" for one in files for path, said in one.left_out.items()
            )
            raise Ended(Stop.TOKENS, failure=f"no located file can be shown: {why}")
        repairs = Repairs(task.desk.workspace)
        turns = dealt([sets[place] for place in usable], self._plan.repairs)
        return [
            self._repair_of(files[usable[turn]], number, repairs, task.shared)
            for number, turn in enumerate(turns, 1)
        ]

    def _repair_of(
        self, files: FullFiles, number: int, repairs: Repairs, shared: Mapping[str, str]
    ) -> Sample[Patch]:
        prompt = self._repair.render(
            **shared,
            paths=[safe_patch(path).text for path in files.texts],
            files=[shown(text).removesuffix("\n") for text in files.texts.values()],
            left_out=safe_patch(", ".join(files.left_out)).text,
        )
        about = {"files": list(files.texts), "left_out": dict(files.left_out)}

        def read(reply: str) -> Read[Patch]:
            diff, outcome = repairs.read(reply, files.texts)
            patch = Patch(PatchId(f"sample-{number}"), diff) if diff else None
            return patch, about | outcome

        return Sample("repair", prompt, read)

    def _kept(self, candidates: Sequence[Patch]) -> list[PatchId] | None:
        """Whom the filter let pass; None where there is no filter."""
        if self._keep is None:
            return None
        passed = {patch.id for patch in self._keep(candidates)}
        return [patch.id for patch in candidates if patch.id in passed]

    def _room(self, skeleton: Iterable[Message], count: Callable[[str], int]) -> int:
        """Tokens left beside a prompt that lacks what is to be shown."""
        fixed = sum(count(message.content) for message in skeleton)
        return self._engine.context_tokens - self._limits.reply_tokens - _SPARE_TOKENS - fixed


def _winner(candidates: Sequence[Patch], kept: Collection[PatchId] | None) -> str:
    """The most frequent patch of those that were kept; None: of all. Raises Ended where none was."""
    diffs = [one.diff for one in candidates if kept is None or one.id in kept]
    if not diffs:
        raise Ended(Stop.NONE_KEPT)
    return diffs[choice(diffs).chosen or 0]
