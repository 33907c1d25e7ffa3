"""Agentless Mini locates files, samples repairs and votes (SWE-RL, appendix B; own prompts).

It has no loop and no tools. Each localisation sample is a set of files. Equal sets count once, and sets are never
mixed, as in the paper. The repairs edit whole files and take the sets in turns. Then the model writes reproduction
tests, if the plan wants any. Where code may be run, `keep` filters the patches by regression tests and these tests. The
most frequent of the rest wins, by `choose_attempt`. In a tie the first sample wins: its set was located most often.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from model.agents.agentless.file_localisation import (
    LocatedPaths,
    Paths,
    assign_file_sets,
    build_outline,
    rank_file_sets,
    read_paths,
)
from model.agents.agentless.full_files import FullFiles, load_fitting_files
from model.agents.agentless.prompt_sampling import ReadResult, Sample, Sampler, describe_drop
from model.agents.agentless.repair import RepairCache
from model.agents.agentless.repair_prompt import get_parser, load_repair_prompt
from model.agents.agentless.sampling_plan import SamplingPlan, check_plan
from model.agents.agentless.search_replace import escape_file
from model.agents.attempt_selection import choose_attempt
from model.agents.tools.toolbox import ToolContext
from model.agents.trajectories import guidance as hints
from model.agents.trajectories.guidance import Guidance
from model.agents.trajectories.trajectory import (
    Attempt,
    AttemptEnded,
    AttemptLimits,
    Step,
    StopReason,
    Trajectory,
)
from model.domain import EngineInfo, Issue, Patch, PatchId
from model.prompts import prompt_template
from model.prompts.fingerprint import combine_fingerprints
from model.prompts.prompt_template import Template
from model.prompts.special_tokens import SpecialTokens
from model.prompts.untrusted import escape_issue, escape_patch, escape_special_tokens
from model.protocols import Engine, Message
from model.reproduction import test_writing
from model.reproduction.example_search import find_example
from model.reproduction.rerank import SelectedPatches

CandidateFilter = Callable[[Sequence[Patch], Sequence[str]], SelectedPatches]
"""Selects among candidate patches by reproduction tests, which are the texts that the model wrote."""

_SPARE_TOKENS = 64
"""Reserve for the chat template's own tokens, and for texts whose counts do not add up exactly."""


@dataclass(frozen=True, slots=True)
class _Task:
    """The inputs of one attempt."""

    issue: Issue
    context: ToolContext
    shared: Mapping[str, str]
    """Values that every prompt needs: the issue and the hint, escaped."""
    count_tokens: Callable[[str], int]
    special_tokens: SpecialTokens


class AgentlessMini:
    """Agent that locates suspicious files, samples repairs of them and proposes the most frequent patch.

    It runs no code of the tree itself; `keep` may.
    """

    name = "agentless-mini"

    def __init__(
        self,
        engine: Engine,
        *,
        limits: AttemptLimits | None = None,
        plan: SamplingPlan | None = None,
        keep: CandidateFilter | None = None,
        repair_prompt: str | Template = "agentless_repair",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare the agent. `keep` filters the candidate patches before the vote; None keeps all.

        `keep` receives every candidate, with duplicates, and returns those that may win. The trajectory records what it
        returns. `repair_prompt` is a loaded prompt, or what `load_repair_prompt` loads. Raises IncompatibleOptions for
        a plan with impossible numbers.
        """
        self._engine = engine
        self._plan = check_plan(plan or SamplingPlan())
        self._limits = replace(
            limits or AttemptLimits(),
            rounds=self._plan.samples,
            tokens=engine.context_tokens,
        )
        self._keep = keep
        self._clock = clock
        self._locate = prompt_template.load("agentless_locate")
        self._repair = (
            repair_prompt
            if isinstance(repair_prompt, Template)
            else load_repair_prompt(repair_prompt)
        )
        self._reproduce = prompt_template.load(test_writing.PROMPT)
        asked = (self._locate, self._repair, *((self._reproduce,) if self._plan.tests else ()))
        spoken = combine_fingerprints(*(template.fingerprint for template in asked))
        self._speaker = EngineInfo(engine.name, engine.model, spoken)

    def propose(
        self,
        issue: Issue,
        context: ToolContext,
        *,
        seed: int,
        guidance: Guidance | None = None,
        on_step: Callable[[Step], None] = lambda _step: None,
    ) -> Attempt:
        """Make one attempt to write a patch for an issue, and return its record. The workspace ends unchanged.

        When time runs out, the candidates so far are voted on. When the engine is down or every request fails, the
        attempt has no patch. `guidance` is the hint of a second attempt. `on_step` receives each finished step.
        """
        sampler = Sampler(self._engine, self._limits, self._plan.batch, seed, self._clock, on_step)
        special = self._repair.add_delimiters(self._engine.special_tokens)
        hint = escape_special_tokens(hints.render_hint(guidance), special) if guidance else ""
        task = _Task(
            issue,
            context,
            {"issue": escape_issue(issue.text, special).text, "hint": hint},
            sampler.count_tokens,
            special,
        )
        selected: SelectedPatches | None = None
        try:
            sets = rank_file_sets(sampler.collect_values(self._build_localisations(task)))
            candidates = sampler.collect_values(self._build_repairs(task, sets))
            selected = self._filter_candidates(candidates, self._sample_tests(sampler, task))
            end = AttemptEnded(StopReason.SUBMITTED, patch=_choose_winner(candidates, selected))
        except AttemptEnded as ended:
            end = ended
        trajectory = Trajectory(
            agent=self.name,
            engine=self._speaker,
            issue=issue,
            tree=context.tree,
            seed=seed,
            limits=self._limits,
            tools=(),
            opening=(),
            opening_tokens=0,
            steps=tuple(sampler.steps),
            stop=end.stop,
            patch=end.patch,
            failure=end.failure,
            guidance=guidance,
            setting=self._dump_setting(sampler.token_counts, selected),
        )
        return Attempt(trajectory, sampler.duration)

    def _build_localisations(self, task: _Task) -> list[Sample[LocatedPaths]]:
        """Build the localisation samples. Raises AttemptEnded when no file of the tree fits beside the issue."""
        paths, most = task.context.snapshot.list_paths(), f"{self._plan.files}"
        free_tokens = self._count_free_tokens(
            self._locate.render(**task.shared, most=most, tree=""), task.count_tokens
        )
        tree = build_outline(
            paths, task.issue.text, free_tokens, task.count_tokens, task.special_tokens
        )
        if not tree.listed_files:
            raise AttemptEnded(
                StopReason.TOKENS,
                failure=f"none of {tree.omitted_files:,} source files fits beside the issue",
            )
        prompt = self._locate.render(**task.shared, most=most, tree=tree.text)
        tree_paths = frozenset(paths)

        def read(reply: str) -> ReadResult[LocatedPaths]:
            located = read_paths(reply, tree_paths, self._plan.files)
            if located.paths:
                return located, asdict(located)
            return None, asdict(located) | describe_drop("no_file", "no file of the tree is named")

        return [Sample("locate", prompt, read)] * self._plan.localisations

    def _build_repairs(self, task: _Task, sets: Sequence[Paths]) -> list[Sample[Patch]]:
        """Build the repair samples. Raises AttemptEnded when no located file can be shown."""
        skeleton = self._repair.render(**task.shared, paths=(), files=(), left_out="")
        free_tokens = self._count_free_tokens(skeleton, task.count_tokens)
        files = [
            load_fitting_files(
                task.context.workspace, paths, free_tokens, task.count_tokens, task.special_tokens
            )
            for paths in sets
        ]
        usable = [place for place, shown in enumerate(files) if shown.texts]
        if not usable:
            why = "; ".join(
                f"{path}: {reason}" for shown in files for path, reason in shown.left_out.items()
            )
            raise AttemptEnded(StopReason.TOKENS, failure=f"no located file can be shown: {why}")
        repairs = RepairCache(task.context.workspace, get_parser(self._repair))
        turns = assign_file_sets([sets[place] for place in usable], self._plan.repairs)
        return [
            self._build_repair(files[usable[turn]], number, repairs, task)
            for number, turn in enumerate(turns, 1)
        ]

    def _build_repair(
        self, files: FullFiles, number: int, repairs: RepairCache, task: _Task
    ) -> Sample[Patch]:
        special = task.special_tokens
        prompt = self._repair.render(
            **task.shared,
            paths=[escape_patch(path, special).text for path in files.texts],
            files=[escape_file(text, special).removesuffix("\n") for text in files.texts.values()],
            left_out=escape_patch(", ".join(files.left_out), special).text,
        )
        about = {"files": list(files.texts), "left_out": dict(files.left_out)}

        def read(reply: str) -> ReadResult[Patch]:
            diff, outcome = repairs.apply_reply(reply, files.texts)
            patch = Patch(PatchId(f"sample-{number}"), diff) if diff else None
            return patch, about | outcome

        return Sample("repair", prompt, read)

    def _sample_tests(self, sampler: Sampler, task: _Task) -> list[str]:
        """Return the reproduction tests that the model wrote; none where no reply can be used."""
        if not self._plan.tests:
            return []
        workspace, paths = task.context.workspace, task.context.snapshot.list_paths()
        prompt = test_writing.build_prompt(
            self._reproduce,
            task.issue,
            find_example(paths, task.issue.text, workspace.read),
            self._engine,
            task.count_tokens,
            self._limits.reply_tokens,
        )
        try:
            return sampler.collect_values(
                [Sample("reproduce", prompt, _read_test)] * self._plan.tests
            )
        except AttemptEnded:  # the patches can be voted on without tests
            return []

    def _filter_candidates(
        self, candidates: Sequence[Patch], tests: Sequence[str]
    ) -> SelectedPatches | None:
        """Return what the filter kept; None without a filter."""
        return None if self._keep is None else self._keep(candidates, tests)

    def _dump_setting(self, counts: Sequence[int], selected: SelectedPatches | None) -> str:
        """Return what a replay needs as JSON: the plan, the token counts, the kept candidates and the repair prompt."""
        setting = {
            "plan": asdict(self._plan),
            "counts": counts,
            "kept": selected and selected.kept,
            "execution": selected and selected.record,
            "repair_prompt": self._repair.name,
        }
        return json.dumps(setting)

    def _count_free_tokens(self, skeleton: Iterable[Message], count: Callable[[str], int]) -> int:
        """Return the tokens that are left beside a prompt without its files."""
        fixed = sum(count(message.content) for message in skeleton)
        return self._engine.context_tokens - self._limits.reply_tokens - _SPARE_TOKENS - fixed


def _read_test(reply: str) -> ReadResult[str]:
    text = test_writing.read_script(reply)
    if text is None:
        return None, describe_drop("no_script", "the reply holds no fenced block of Python")
    return text, {"test": text}


def _choose_winner(candidates: Sequence[Patch], selected: SelectedPatches | None) -> str:
    """Return the most frequent patch among the kept candidates. Raises AttemptEnded when none was kept."""
    diffs = [patch.diff for patch in candidates if selected is None or patch.id in selected.kept]
    if not diffs:
        raise AttemptEnded(StopReason.NONE_KEPT)
    return diffs[choose_attempt(diffs).index or 0]
