"""The notes below a verdict's table: what a reader should know before using it (pure)."""

from collections.abc import Iterator, Sequence

from app.comments import alternative_offer
from app.comments.notices import LINKS_NOTE, MOVED_NOTE, write_config_note
from app.comments.phrases import (
    FINDINGS,
    describe_coverage,
    explain_not_judged,
    join_names,
    quote_line,
)
from app.comments.views import Finding, VerdictRow, VerdictView
from app.values.quoting import quote_phrase
from model.domain import Verdict

_NAMED_AT_MOST = 20
_REASON_LIMIT = 300
_NOBODY_READ = "no language model read it"


def list_notes(view: VerdictView, rows: Sequence[VerdictRow]) -> Iterator[str]:
    """Yield what a reader should know before using the table."""
    for row in rows:
        yield from _list_row_notes(row, has_model=view.has_model)
    yield from [MOVED_NOTE] * view.is_moved
    yield from alternative_offer.list_notes(view)
    if view.issue_findings:
        how = "the model read the text without it" if view.has_model else _NOBODY_READ
        yield f"The issue's text held {_name_findings(view.issue_findings)}; {how}."
    for left in view.left_out[:_NAMED_AT_MOST]:
        yield f"#{left.number} is left out: {quote_line(left.reason, _REASON_LIMIT)}."
    if len(view.left_out) > _NAMED_AT_MOST:
        yield f"{len(view.left_out) - _NAMED_AT_MOST} more are left out."
    if not view.all_links_read:
        yield LINKS_NOTE
    if view.config_problem:
        yield write_config_note(view.config_problem)


def _list_row_notes(row: VerdictRow, *, has_model: bool) -> Iterator[str]:
    verdict = row.verdict
    if verdict.verdict is Verdict.NOT_JUDGED:
        yield f"The bot did not judge #{row.pull}: {quote_phrase(explain_not_judged(verdict), _REASON_LIMIT)}."
    elif not verdict.coverage.is_whole:
        yield f"The bot judged only a part of #{row.pull}: {describe_coverage(verdict.coverage, has_model=has_model)}."
    if row.version > 1:
        yield f"This is version {row.version} of #{row.pull} that the bot judged."
    if row.moved:
        yield (
            f"#{row.pull} has new commits. Its verdict is only about `{row.head[:7]}`; "
            "the bot will judge the new commits."
        )
    if row.findings:
        how = "the model saw them marked as such" if has_model else _NOBODY_READ
        yield f"#{row.pull} holds {_name_findings(row.findings)}; {how}."


def _name_findings(findings: Sequence[Finding]) -> str:
    return join_names(FINDINGS[finding] for finding in dict.fromkeys(findings))
