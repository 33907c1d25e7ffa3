"""Read an issue and the pull requests that claim it from GitHub, as the bot collects them, with a plain token."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from app.github.api import graphql_reader, token_reader
from app.github.api.token_reader import TokenReader
from app.github.endpoints import Endpoints, build_endpoints
from app.github.errors import DiffTooBig, Forbidden, GitHubError, NotFound, Retryable, Unauthorized
from app.github.facts import IssueFacts, IssueState, PullRequest
from app.operator.verification import event
from app.operator.verification.report import NothingToJudge
from app.policy import rival_links
from app.policy.event_policy import BY_COMMAND
from app.policy.group_policy import CandidateFacts, WaitForMore, is_worth_reading, should_evaluate
from app.settings import IdentitySettings, load
from app.settings.config_layers import DEFAULTS_REPOSITORY, combine
from app.settings.repo_config import RepoConfig, TriggerKind
from app.values.identifiers import IssueNumber, IssueRef, PullNumber, RepositoryRef
from model.commands import inputs
from model.commands.exit_codes import Exit, stop, warn
from model.commands.inputs import BadInput
from model.commands.verify_options import VERIFY, VerifyInput, build_subject
from model.domain import Issue, Patch, PatchId
from model.errors import BadDiff
from model.patches import diff

_FULL_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[\w.-]+", re.ASCII)
BY_EVENT: Final = "pull_request"
"""Trigger of an evaluation that a GitHub event started, and perhaps a stranger."""
_RIGHTS: Final = "the token needs read access to contents, issues and pull requests"


@dataclass(frozen=True, slots=True)
class _Rivals:
    """The pull requests that may be judged, and why the others are not."""

    kept: tuple[PullRequest, ...]
    left_out: Mapping[PullNumber, str]
    wait: str | None = None
    """Why the settings let them wait; None: they do not."""


def read_group(repository: str, subject: int | Path, token: str) -> VerifyInput:
    """Return an issue of a GitHub repository and the diffs of the open pull requests that claim to resolve it.

    `subject` is the issue's number, or the file of a GitHub event. The repository's settings on its default branch
    decide which pull requests take part: for a number as for a command, for an event as for a change of a pull request,
    because a stranger may have caused it. Raises BadInput, and NothingToJudge for fewer than two;
    ends the process with an exit code when GitHub refuses or does not answer.
    """
    if not _FULL_NAME.fullmatch(repository):
        raise BadInput(f"--repo {repository!r} is no OWNER/NAME")
    target = event.read_event(subject) if isinstance(subject, Path) else event.EventSubject(subject)
    settings = load(IdentitySettings)
    endpoints = build_endpoints(settings.github_url)
    with (
        closing(TokenReader.open(endpoints, SecretStr(token))) as github,
        _explain_errors(repository),
    ):
        ref = token_reader.find_repository(github, repository)
        trigger = BY_EVENT if isinstance(subject, Path) else BY_COMMAND
        reader = GroupReader(github, ref, settings.host, endpoints, trigger)
        return reader.read(reader.find_issue(target))


@contextmanager
def _explain_errors(repository: str) -> Iterator[None]:
    """End the process with one line when GitHub refuses a call or does not answer."""
    try:
        yield
    except Unauthorized:
        stop(VERIFY, Exit.USAGE, "GitHub refuses the token; it is wrong or expired")
    except Forbidden as error:
        stop(VERIFY, Exit.USAGE, f"{error.detail}; {_RIGHTS} of {repository}")
    except NotFound as error:
        stop(VERIFY, Exit.USAGE, f"{repository} does not exist, or {_RIGHTS} ({error})")
    except Retryable as error:
        stop(VERIFY, Exit.BACKEND_DOWN, str(error))
    except GitHubError as error:
        stop(VERIFY, Exit.USAGE, str(error))


@dataclass(frozen=True, slots=True)
class GroupReader:
    """Reads the group of one issue of one repository."""

    github: TokenReader
    repository: RepositoryRef
    host: str
    endpoints: Endpoints
    trigger: str = BY_COMMAND
    """`command` for a person who named the issue, or BY_EVENT."""

    def find_issue(self, target: event.EventSubject) -> IssueNumber:
        """Return the number of the issue, or of the one issue that the pull request closes. Raises NothingToJudge."""
        if not target.is_pull:
            return IssueNumber(target.number)
        name = self.repository.full_name
        pull = graphql_reader.read_pull(self.github, self.repository, PullNumber(target.number))
        issues = rival_links.find_closed_issues(pull, name, self.host)
        if len(issues) == 1:
            return issues[0]
        listed = ", ".join(f"#{number}" for number in issues)
        why = f"closes several issues: {listed}; name one" if issues else "closes no issue"
        raise NothingToJudge(f"pull request #{target.number} of {name} {why}")

    def read(self, number: IssueNumber) -> VerifyInput:
        """Read the issue, choose its rivals and download their diffs."""
        facts = self._read_issue(number)
        if not facts.is_complete:
            warn(
                VERIFY, f"issue #{number} has more links than are read; some rivals may be missing"
            )
        pulls = self._list_claiming(facts)
        config = self._read_config(facts)
        diffs, too_big = self._download([p for p in pulls if is_worth_reading(config, p)])
        rivals = choose_rivals(config, pulls, diffs, too_big, self.trigger)
        notes = tuple(f"#{pull}: {reason}" for pull, reason in rivals.left_out.items())
        for note in notes:
            warn(VERIFY, note)
        if len(rivals.kept) < 2:
            raise NothingToJudge(_explain_too_few(facts, rivals))
        if rivals.wait:
            raise NothingToJudge(f"{facts.repository.full_name}#{number}: {rivals.wait}")
        self._require_same_heads(number, rivals.kept)
        return self._build_input(facts, rivals.kept, diffs, notes)

    def _read_issue(self, number: IssueNumber) -> IssueFacts:
        try:
            return graphql_reader.read_issue(self.github, IssueRef(self.repository, number))
        except NotFound as error:
            name = self.repository.full_name
            raise BadInput(f"{name} has no issue #{number}; a pull request is no issue") from error

    def _list_claiming(self, facts: IssueFacts) -> list[PullRequest]:
        linked = {each.pull.number: each.pull for each in facts.pulls}
        members = rival_links.find_members(facts, host=self.host)
        return [linked[member.number] for member in members]

    def _download(
        self, pulls: Sequence[PullRequest]
    ) -> tuple[dict[PullNumber, str], dict[PullNumber, str]]:
        """Return the diffs, and for each diff that GitHub does not serve the reason."""
        diffs: dict[PullNumber, str] = {}
        too_big: dict[PullNumber, str] = {}
        for pull in pulls:
            try:
                text = token_reader.read_diff(self.github, self.repository, pull.number)
            except DiffTooBig:
                too_big[pull.number] = (
                    "its diff exceeds GitHub's limit of 300 files or 20,000 lines"
                )
            else:
                diffs[pull.number] = text
        return diffs, too_big

    def _read_config(self, facts: IssueFacts) -> RepoConfig:
        """Return the repository's settings with the organisation's default, or the bot's defaults for invalid files.

        `triggers` counts as everything: who wrote the workflow or the command wants a judgement.
        """
        blob = facts.repository.config
        config = combine(blob.text if blob else None, self._read_default())
        return config.model_copy(update={"triggers": tuple(TriggerKind)})

    def _read_default(self) -> str | None:
        """Return the organisation's default settings; None where the token sees none."""
        owner = self.repository.full_name.partition("/")[0]
        try:
            shared = token_reader.find_repository(self.github, f"{owner}/{DEFAULTS_REPOSITORY}")
            blob = graphql_reader.read_repository(self.github, shared).config
        except (NotFound, Forbidden):
            return None
        return blob.text if blob else None

    def _require_same_heads(self, number: IssueNumber, pulls: Sequence[PullRequest]) -> None:
        """End the process if a pull request got commits since its head was read: its diff may belong to another."""
        heads = {each.pull.number: each.pull.head_sha for each in self._read_issue(number).pulls}
        for pull in pulls:
            if heads.get(pull.number) != pull.head_sha:
                changed = f"#{pull.number} changed while its diff was read; run the command again"
                stop(VERIFY, Exit.BACKEND_DOWN, changed)

    def _build_input(
        self,
        facts: IssueFacts,
        pulls: Sequence[PullRequest],
        diffs: Mapping[PullNumber, str],
        notes: tuple[str, ...],
    ) -> VerifyInput:
        name, issue = facts.repository.full_name, Issue(facts.title, facts.body)
        patches = [Patch(PatchId(f"#{pull.number}"), diffs[pull.number]) for pull in pulls]
        try:
            unreadable = inputs.list_unreadable(patches, [patch.id for patch in patches])
        except BadInput as error:
            raise NothingToJudge(str(error)) from error
        for note in unreadable:
            warn(VERIFY, note)
        subject = replace(
            build_subject(issue, patches),
            repository=name,
            number=int(facts.number),
            head_shas={PatchId(f"#{pull.number}"): pull.head_sha for pull in pulls},
        )
        url = f"{self.endpoints.web}/{name}"
        return VerifyInput(issue, patches, subject, notes, url)


def choose_rivals(
    config: RepoConfig,
    pulls: Sequence[PullRequest],
    diffs: Mapping[PullNumber, str],
    too_big: Mapping[PullNumber, str],
    trigger: str,
) -> _Rivals:
    """Choose the pull requests to judge by the repository's settings, as the bot does for this trigger.

    `too_big` holds the reasons of the pull requests whose diffs GitHub does not serve.
    """
    facts = [
        CandidateFacts(
            number=pull.number,
            author=pull.author or "",
            is_open=pull.state is IssueState.OPEN,
            is_draft=pull.is_draft,
            paths=_list_paths(diffs.get(pull.number, "")) if config.paths else (),
            association=pull.association,
            is_empty=diffs.get(pull.number) == "",
            excess=too_big.get(pull.number),
        )
        for pull in pulls
    ]
    decision = should_evaluate(config, facts, trigger, issue_is_open=True)
    left_out = {each.number: each.reason for each in decision.left_out}
    kept = tuple(pull for pull in pulls if pull.number not in left_out)
    return _Rivals(kept, left_out, decision.reason if isinstance(decision, WaitForMore) else None)


def _list_paths(text: str) -> tuple[str, ...]:
    try:
        return tuple(sorted(diff.list_touched_files(text)))
    except BadDiff:
        return ()


def _explain_too_few(facts: IssueFacts, rivals: _Rivals) -> str:
    issue = f"{facts.repository.full_name}#{facts.number}"
    if rivals.kept:
        only = f"only pull request #{rivals.kept[0].number} can be judged"
        return f"{issue}: {only}, and a comparison needs two"
    if rivals.left_out:
        return f"{issue}: none of its {len(rivals.left_out)} pull requests can be judged"
    return f"{issue}: no pull request claims to resolve it"
