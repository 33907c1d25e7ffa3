"""`r4p verify`: judge patches from files, or the pull requests of a GitHub issue."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer
from typer import Option

from app.operator.verification.report import ActionFiles, NothingToJudge
from model import catalog
from model.commands import key_file
from model.commands.exit_codes import Exit, stop
from model.commands.extras import require_extras
from model.commands.inputs import BadInput
from model.commands.options import accept_options
from model.commands.verify import choose_exit_code, judge
from model.commands.verify_options import VERIFY, VerifyInput, VerifyOptions

_DIGITS: Final = 10
"""Most digits of an issue's number."""


@dataclass(frozen=True, kw_only=True)
class IssueOptions(VerifyOptions):
    """Options of `r4p verify` with those about GitHub."""

    repo: Annotated[
        str | None,
        Option(
            metavar="OWNER/NAME",
            help="Judge the open pull requests of this GitHub repository that claim to resolve the issue.",
        ),
    ] = None
    issue: Annotated[
        Path | None,
        Option(
            metavar="FILE|N",
            help="The issue: a file whose first line is the title, or with --repo a number.",
        ),
    ] = None
    event: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="With --repo: the GitHub event that names the issue or a pull request for it.",
        ),
    ] = None
    token_file: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="With --repo: file that contains only GitHub's token. Default: GH_TOKEN, else GITHUB_TOKEN.",
        ),
    ] = None
    summary: Annotated[
        Path | None,
        Option(metavar="FILE", help="Append the verdicts as Markdown, as to $GITHUB_STEP_SUMMARY."),
    ] = None
    outputs: Annotated[
        Path | None,
        Option(metavar="FILE", help="Append verdict, winners and result, as to $GITHUB_OUTPUT."),
    ] = None

    def read_group(self) -> VerifyInput:
        """Return the issue and the candidates, from files or from GitHub. Raises BadInput and NothingToJudge."""
        if self.repo is None:
            if self.event or self.token_file:
                option = "--event" if self.event else "--token-file"
                raise BadInput(f"{option} does nothing without --repo; leave it out")
            return super().read_group()
        if files := [*(self.patch or []), *(self.more or []), *(self.trajectory or [])]:
            raise BadInput(f"--repo reads the patches from GitHub; leave out {files[0]}")
        if catalog.TRAJECTORY_VERIFIER in catalog.parse_verifier_name(self.verifier):
            raise BadInput(f"verifier {self.verifier} needs trajectories, which GitHub lacks")
        subject = self._read_subject()
        require_extras(VERIFY, "server")
        from app.operator.verification import rivals

        return rivals.read_group(self.repo, subject, self._read_token())

    def _read_subject(self) -> int | Path:
        if self.issue is not None and self.event is None:
            return _read_number(str(self.issue))
        if self.event is not None and self.issue is None:
            return self.event
        raise BadInput("name the issue: --issue N, or --event FILE")

    def _read_token(self) -> str:
        if self.token_file:
            return key_file.read_key(self.token_file, "token")
        from app.settings.environment import read_environment

        environment = read_environment()
        name = "GH_TOKEN" if environment.get("GH_TOKEN") else "GITHUB_TOKEN"
        token = environment.get(name)
        if not token:
            raise BadInput(
                "there is no GitHub token; set GH_TOKEN to one that may read contents, issues and pull requests"
            )
        return key_file.check_key(token, f"variable {name}", "token")


@accept_options(IssueOptions, VerifyOptions)
def verify(options: IssueOptions) -> None:
    """Judge candidate patches for one issue against each other, from files or from GitHub.

    Exit codes: 0 a candidate is correct, 2 usage, 3 none is correct, 4 unsure, 5 no engine or no GitHub, 6 nothing to compare.
    """
    files = ActionFiles(options.summary, options.outputs)
    files.check()
    try:
        result = judge(options, options.read_group)
    except NothingToJudge as nothing:
        files.write_nothing(str(nothing))
        stop(VERIFY, Exit.NOTHING_JUDGED, str(nothing))
    files.write(result)
    raise typer.Exit(choose_exit_code(result.verdict))


def _read_number(text: str) -> int:
    number = text.removeprefix("#")
    is_short = number.isascii() and number.isdecimal() and len(number) <= _DIGITS
    if not (is_short and 0 < int(number) < 2**31):
        raise BadInput(f"--issue {text} is no number of an issue; with --repo give one, such as 12")
    return int(number)
