"""The options of `r4p evaluate`, and which of them go together."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Option

from model import catalog
from model.catalog import VotingChoice
from model.commands.options import JudgeOptions
from model.errors import IncompatibleOptions
from model.execution import evidence_record
from model.execution.evidence_record import EvidenceFile
from model.verifiers import judge_prompts


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(JudgeOptions):
    """Options of `r4p evaluate`."""

    verifier: Annotated[str, Option(metavar="NAME", help="Verifier to measure.")]
    groups: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="File of labelled groups, .jsonl or .jsonl.gz; --attack has its own by default.",
        ),
    ] = None
    gym: Annotated[
        Path | None,
        Option(
            metavar="DIR", help="A gym in place of --groups: each task's candidates are a group."
        ),
    ] = None
    code: Annotated[
        bool,
        Option(
            "--code",
            help="Show the definitions of the base that the patches touch, from the trees of --gym.",
        ),
    ] = False
    evidence: Annotated[
        Path | None,
        Option(metavar="FILE", help="The record of `r4p gym run` (regression, execution)."),
    ] = None
    fail_to_pass: Annotated[
        bool,
        Option(
            "--fail-to-pass",
            help="Take the fail-to-pass tests for reproduction tests. They decide the truth: a check, no measurement.",
        ),
    ] = False
    limit: Annotated[
        int | None,
        Option(
            min=1,
            help="Number of groups, pairs, attacks or issues of --best-of; the same ones each time.",
        ),
    ] = None
    together: Annotated[
        int,
        Option(
            metavar="N",
            min=1,
            help="Number of groups to judge at the same time: the run is faster, each group slower.",
        ),
    ] = 1
    out: Annotated[
        Path | None,
        Option(
            metavar="DIR|FILE.jsonl",
            help="Folder or run file to keep judged groups in, and to continue from.",
        ),
    ] = None
    json_output: Annotated[
        bool,
        Option("--json", help="Print one r4p.evaluate/1 (r4p.best-of/1, r4p.attack/1) document."),
    ] = False
    skip_trivial: Annotated[
        bool | None,
        Option(
            "--skip-trivial/--keep-trivial",
            help="Leave out patches that are empty or change only comments or tests, and count them. "
            "Default: kept, but left out with --pairs.",
        ),
    ] = None
    best_of: Annotated[
        str | None,
        Option(
            metavar="K,K,…",
            help="Draw K candidates of each issue, judge them anew, and report how often the choice is correct.",
        ),
    ] = None
    draws: Annotated[
        int | None,
        Option(
            metavar="N",
            min=1,
            help="With --best-of, most draws of one issue at one K; 4 by default.",
        ),
    ] = None
    pairs: Annotated[
        bool,
        Option(
            "--pairs",
            help="Judge each pair of a correct and an incorrect patch alone, as the R4P paper does.",
        ),
    ] = False
    attack: Annotated[
        bool, Option("--attack", help="Attack the groups, and report which verdicts flip.")
    ] = False

    @property
    def voting(self) -> VotingChoice:
        """The voting settings that these options choose."""
        return VotingChoice(
            edited_lines=self.min_lines,
            leave_one_out=self.leave_one_out,
            shortlist=self.shortlist,
        )

    @property
    def leaves_out_trivial(self) -> bool:
        """Whether trivial patches are left out. Pairs are the paper's, so they leave them out by default."""
        return self.pairs if self.skip_trivial is None else self.skip_trivial

    @property
    def purpose(self) -> str:
        """Suffix of the run file's name for `--attack` and `--best-of`, else empty."""
        return ".attack" * self.attack + ".best-of" * (self.best_of is not None)

    def check_purpose(self) -> None:
        """Raise IncompatibleOptions for options that do not go together."""
        purposes = {"--attack": self.attack, "--best-of": self.best_of, "--pairs": self.pairs}
        chosen = [name for name, value in purposes.items() if value]
        if len(chosen) > 1:
            raise IncompatibleOptions(
                f"{' and '.join(chosen)} ask for different measurements; choose one of them"
            )
        if self.gym and (self.groups or self.attack):
            raise IncompatibleOptions(
                "--gym holds the groups to judge; leave out --groups and --attack"
            )
        self._check_code()
        if self.fail_to_pass and not self.evidence:
            raise IncompatibleOptions("--fail-to-pass needs the record that holds them: --evidence")
        if self.draws and self.best_of is None:
            raise IncompatibleOptions("--draws does nothing without --best-of; leave it out")
        if self.attack and self.skip_trivial:
            raise IncompatibleOptions("an attack needs all patches; leave out --skip-trivial")

    def _check_code(self) -> None:
        if not self.code:
            return
        if self.gym is None:
            raise IncompatibleOptions("--code reads the trees of a gym; name one with --gym")
        if not judge_prompts.shows_code(catalog.parse_verifier_name(self.verifier), self.prompt):
            raise IncompatibleOptions(
                f"--code does nothing for verifier {self.verifier} with this prompt, which shows no code; add "
                "--prompt r4p_group_v2, or leave it out"
            )

    def read_evidence(self) -> EvidenceFile | None:
        """Return the recorded tests, or None without `--evidence`. Raises BadRun."""
        if self.evidence is None:
            return None
        return evidence_record.read_evidence(self.evidence, with_fail_to_pass=self.fail_to_pass)
