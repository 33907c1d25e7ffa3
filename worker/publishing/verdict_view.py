"""What is stored of a group becomes what the bot tells about it."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, cast

from app.comments import AlternativeView, Finding, Row, VerdictView
from app.db.store.issues.evaluations import Evaluation, patch_id
from app.db.store.issues.groups import MemberRow
from app.policy.rival_links import LinkStrength, Member
from app.settings.repo_config import Mode
from app.values.identifiers import PullNumber
from model.calibration.evidence import CONSENSUS
from model.domain import EngineInfo, PatchId, PatchVerdict, Tokens
from model.prompts.untrusted import Trick, safe_issue, safe_patch
from model.verdict_json import patches_from_json

DEMONSTRATION_ENGINE = "local_transformers"
"""The embedded models judge at chance; they are there to show the pipeline."""

NOT_FINISHED = "the verifier could not finish; the operator's log says why"
"""All that the public reads of a failure; what it was stays in the database."""


def verdict_view(
    evaluation: Evaluation,
    moved: Collection[PullNumber] = (),
    config_problem: str | None = None,
    *,
    may_open: bool = False,
) -> VerdictView:
    """A verified evaluation as the bot tells it; `moved` are the pull requests changed since."""
    document = cast("dict[str, Any]", evaluation.verdict)
    verdicts = {verdict.id: verdict for verdict in patches_from_json(document)}
    engine = EngineInfo(**document["engine"])
    return VerdictView(
        group=evaluation.group,
        mode=Mode(evaluation.mode),
        rows=tuple(
            Row(
                pull=judged.candidate.pull,
                head=judged.candidate.head_sha,
                verdict=verdicts[patch_id(judged.candidate.pull)],
                strength=LinkStrength(judged.candidate.strength or LinkStrength.ADDED),
                moved=judged.candidate.pull in moved,
                findings=_findings(safe_patch(judged.candidate.diff or "").tricks),
            )
            for judged in evaluation.judged
        ),
        verifier=document.get("verifier", "none"),
        history=document.get("calibrator", {}).get("issues"),
        has_model=engine.name != CONSENSUS,
        engine=engine,
        asked=document["votes"]["asked"],
        valid=document["votes"]["valid"],
        forced=evaluation.forced,
        parts=max(1, len(document["group"]["partition"])),
        tokens=Tokens(**document["tokens"]),
        total_seconds=document["seconds"]["total"],
        document=evaluation.verdict,
        left_out=evaluation.left_out,
        all_links_read=evaluation.all_links_read,
        issue_findings=_findings(safe_issue(f"{evaluation.title}\n\n{evaluation.body}").tricks),
        config_problem=config_problem,
        alternatives=tuple(_alternatives(evaluation, verdicts)),
        no_alternative=evaluation.alternatives_lack,
        may_open=may_open,
        is_demonstration=DEMONSTRATION_ENGINE in engine.name.split(" + "),
    )


def _alternatives(
    evaluation: Evaluation, verdicts: Mapping[PatchId, PatchVerdict]
) -> Iterator[AlternativeView]:
    numbers = {one.attempt: one.number for one in evaluation.alternatives}
    for one in evaluation.alternatives:
        yield AlternativeView(
            number=one.number,
            agent=one.agent,
            model=one.model,
            steps=one.steps,
            base=one.base_sha,
            diff=one.diff,
            verdict=verdicts[one.id],
            second_to=None if one.guided_by is None else numbers.get(one.guided_by),
        )


def members_of(rows: Iterable[MemberRow]) -> tuple[Member, ...]:
    """The group as it stands: what was removed by command is out."""
    return tuple(
        Member(row.pull, LinkStrength(row.strength) if row.strength else LinkStrength.ADDED)
        for row in rows
        if row.forced is not False
    )


def _findings(tricks: Iterable[tuple[Trick, int]]) -> tuple[Finding, ...]:
    return tuple(Finding(trick.value) for trick, _ in tricks)
