"""Convert a stored evaluation to the view that comments show."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from app.comments import AlternativeView, Finding, VerdictRow, VerdictView, read_group_grounds
from app.db.store.issues.evaluations import Evaluation, patch_id
from app.db.store.issues.groups import MemberRow, StoredRepository
from app.github.facts import Heads
from app.policy.rival_links import LinkStrength, Member
from app.settings.repo_config import FOR_CALIBRATORS, Mode, read_training_consent
from app.values.identifiers import PullNumber
from model.domain import EngineInfo, PatchId, PatchVerdict, Tokens
from model.prompts.untrusted import InjectionKind, escape_issue, escape_patch
from model.verdict_json import read_differences
from model.verifiers.judge_prompts import find_prompt_name
from worker.repositories.repository_config import parse_last_good

DEMONSTRATION_ENGINE = "local_transformers"
"""The embedded models judge at chance; they only demonstrate the pipeline."""

NOT_FINISHED = "the verifier could not finish; the operator's log says why"
"""The public reason of a failure; the details stay in the database."""


def build_verdict_view(
    evaluation: Evaluation,
    moved: Collection[PullNumber] = (),
    config_problem: str | None = None,
    *,
    may_open: bool = False,
) -> VerdictView:
    """Convert an evaluation with a verdict to the view: the values from which its comment is written.

    `moved` holds the pull requests whose head changed since the evaluation. `config_problem` holds the errors of the
    repository's settings file. `may_open` says whether the comment may offer `/r4p open`.
    """
    document = cast("dict[str, Any]", evaluation.verdict)
    grounds = read_group_grounds(document)
    verdicts = {verdict.id: verdict for verdict in grounds.verdicts}
    engine = EngineInfo(**document["engine"])
    return VerdictView(
        group=evaluation.group,
        mode=Mode(evaluation.mode),
        rows=tuple(_build_rows(evaluation, verdicts, moved)),
        verifier=grounds.verifier,
        history=grounds.history,
        is_packaged_prior=grounds.is_packaged_prior,
        has_model=grounds.has_model,
        engine=engine,
        asked=document["votes"]["asked"],
        valid=document["votes"]["valid"],
        forced=evaluation.forced,
        parts=max(1, len(document["group"]["partition"])),
        tokens=Tokens(**document["tokens"]),
        total_seconds=document["seconds"]["total"],
        document=evaluation.verdict,
        differences=read_differences(document),
        code=grounds.code,
        prompt=find_prompt_name(engine.prompt_fingerprint),
        left_out=evaluation.left_out,
        all_links_read=evaluation.all_links_read,
        issue_findings=_build_findings(
            escape_issue(f"{evaluation.title}\n\n{evaluation.body}").injections
        ),
        config_problem=config_problem,
        alternatives=tuple(_build_alternatives(evaluation, verdicts)),
        no_alternative=evaluation.alternatives_lack,
        may_open=may_open,
        is_moved=evaluation.moved_from is not None,
        is_demonstration=DEMONSTRATION_ENGINE in engine.name.split(" + "),
    )


def add_titles(view: VerdictView, heads: Heads) -> VerdictView:
    """Return the view with the present titles and authors of its pull requests (pure)."""
    by_pull = {pull.number: pull for pull in heads.pulls}
    rows = (
        replace(row, title=by_pull[row.pull].title, author=by_pull[row.pull].author)
        if row.pull in by_pull
        else row
        for row in view.rows
    )
    return replace(view, rows=tuple(rows))


def add_settings(view: VerdictView, stored: StoredRepository) -> VerdictView:
    """Return the view with what the repository's settings say about the comment (pure)."""
    consent = read_training_consent(stored.config_text, stored.config_error)
    return replace(
        view,
        has_reading_order=parse_last_good(stored).reading_order,
        is_learning_allowed=consent in FOR_CALIBRATORS,
    )


def _build_rows(
    evaluation: Evaluation,
    verdicts: Mapping[PatchId, PatchVerdict],
    moved: Collection[PullNumber],
) -> Iterator[VerdictRow]:
    for candidate in evaluation.candidates:
        yield VerdictRow(
            pull=candidate.pull,
            head=candidate.head_sha,
            verdict=verdicts[patch_id(candidate.pull)],
            strength=LinkStrength(candidate.strength or LinkStrength.ADDED),
            moved=candidate.pull in moved,
            findings=_build_findings(escape_patch(candidate.diff or "").injections),
            version=evaluation.versions.get(candidate.pull, 1),
        )


def _build_alternatives(
    evaluation: Evaluation, verdicts: Mapping[PatchId, PatchVerdict]
) -> Iterator[AlternativeView]:
    numbers = {alternative.attempt: alternative.number for alternative in evaluation.alternatives}
    for alternative in evaluation.alternatives:
        yield AlternativeView(
            number=alternative.number,
            agent=alternative.agent,
            model=alternative.model,
            steps=alternative.steps,
            base=alternative.base_sha,
            diff=alternative.diff,
            verdict=verdicts[alternative.id],
            second_to=None if alternative.guided_by is None else numbers.get(alternative.guided_by),
        )


def build_members(rows: Iterable[MemberRow]) -> tuple[Member, ...]:
    """Return a group's pull requests and their link strengths from its rows, without those a command removed."""
    return tuple(
        Member(row.pull, LinkStrength(row.strength) if row.strength else LinkStrength.ADDED)
        for row in rows
        if row.forced is not False
    )


def _build_findings(tricks: Iterable[tuple[InjectionKind, int]]) -> tuple[Finding, ...]:
    return tuple(Finding(trick.value) for trick, _ in tricks)
