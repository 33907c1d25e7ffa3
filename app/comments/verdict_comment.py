"""The verdict comment of a group: the verdicts come first, the reasons are folded (pure)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.comments import alternative_offer
from app.comments.evidence_text import (
    MERGEABLE_NOTE,
    list_checklist,
    list_columns,
    list_group_notes,
    write_differences,
)
from app.comments.headline import write_headline, write_reading_order
from app.comments.judging_method import write_method, write_sources
from app.comments.markers import format_group_marker, format_verdict_json
from app.comments.phrases import (
    LINKS,
    VERDICTS,
    describe_coverage,
    format_agreement,
    format_percent,
    quote_block,
)
from app.comments.verdict_notes import list_notes
from app.comments.views import VerdictRow, VerdictView
from app.policy.alternative_policy import format_alternative_id
from app.policy.rival_links import LinkStrength
from app.settings.repo_config import Mode
from app.values.quoting import quote_phrase
from model.domain import PatchVerdict, Verdict
from model.voting.verdict_summary import get_place

LONGEST_BODY = 60_000
"""Most characters of the comment. GitHub's limit is 65,536, and GitHub may count more than we do."""

_DIFF_LIMIT = 20_000
_LOGIN_LIMIT = 45


@dataclass(frozen=True, slots=True)
class _DetailLevel:
    """How much of a verdict the comment shows."""

    rows: int
    title: int
    """Most characters of each pull request's title; 0: no titles and no authors."""
    reason: int
    """Most characters of each reason; 0: no reasons."""
    document: bool
    diff: int = 0
    """Most characters of an alternative's diff."""
    notice: str = ""


_REASONS_CUT = "Reasons are shortened, because GitHub limits the length of a comment."
_DOCUMENT_LEFT_OUT = (
    "Reasons are shortened and the machine-readable verdict is left out, "
    "because GitHub limits the length of a comment."
)
_ROWS_LEFT_OUT = (
    "Only the first {shown} of {all} pull requests are listed, without reasons, "
    "because GitHub limits the length of a comment."
)
_DETAIL_LEVELS = (
    _DetailLevel(1_000, 60, 2_000, document=True, diff=_DIFF_LIMIT),
    _DetailLevel(1_000, 60, 600, document=True, diff=_DIFF_LIMIT, notice=_REASONS_CUT),
    _DetailLevel(1_000, 0, 200, document=False, notice=_DOCUMENT_LEFT_OUT),
    _DetailLevel(30, 0, 0, document=False, notice=_ROWS_LEFT_OUT),
)


def write_verdict_comment(view: VerdictView) -> str:
    """Return a group's verdict comment in Markdown, up to LONGEST_BODY characters. Equal views give equal text."""
    *longer, shortest = _DETAIL_LEVELS
    for level in longer:
        body = _write_body(view, level)
        if _count_utf16(body) <= LONGEST_BODY:
            return body
    return _write_body(view, shortest)


def _write_body(view: VerdictView, level: _DetailLevel) -> str:
    shown = sorted(view.rows, key=lambda row: get_place(row.verdict.verdict))[: level.rows]
    blocks = [
        f"{format_group_marker(view.group)}\n### R4P verdict{_describe_mode(view.mode)}: {write_headline(view)}",
        _write_demonstration_note() if view.is_demonstration else "",
        _write_table(shown, view, level.title),
        write_sources(view),
        write_reading_order(view),
        write_differences(view.differences),
        "\n".join(f"- {note}" for note in _list_remarks(view, shown)),
        level.notice.format(shown=len(shown), all=len(view.rows)),
        alternative_offer.offer_best(view, level.diff),
        _write_reasons(view, shown, level.reason) if level.reason else "",
        write_method(view),
        _write_footer(view),
        format_verdict_json(view.document) if level.document else "",
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _count_utf16(body: str) -> int:
    """Count UTF-16 units, as JavaScript does, which are never fewer than our characters."""
    return len(body.encode("utf-16-le", "surrogatepass")) // 2


def _describe_mode(mode: Mode) -> str:
    return "" if mode is Mode.ENFORCE else f" ({mode})"


def _write_demonstration_note() -> str:
    return (
        "> [!WARNING]\n"
        "> Judged by the small demonstration model, which shows how the bot works. "
        "Its verdicts are no better than guesses. Don't act on them."
    )


def _write_table(rows: Sequence[VerdictRow], view: VerdictView, title: int) -> str:
    shown = list(_list_lines(rows, view, title))
    with_probability = any(verdict.probability is not None for _, verdict, *_ in shown)
    columns = list_columns([verdict for _, verdict, *_ in shown])
    head = ["Patch" if view.alternatives else "PR", "Verdict"] + ["Agreement"] * (view.asked > 0)
    head += ["P(correct)"] * with_probability + [column.title for column in columns]
    is_linked_oddly = any(row.strength is not LinkStrength.CLOSING for row in rows)
    with_link = bool(view.alternatives) or is_linked_oddly
    head += ["Commit", "Link"][: 1 + with_link]
    lines = [head, ["---"] * len(head)]
    for name, verdict, *origin in shown:
        cells = [name, _format_verdict(verdict)] + [format_agreement(verdict)] * (view.asked > 0)
        cells += [format_percent(verdict.probability)] * with_probability
        cells += [column.write(verdict) for column in columns]
        lines.append([*cells, *origin[: 1 + with_link]])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _list_lines(
    rows: Sequence[VerdictRow], view: VerdictView, title: int = 0
) -> Iterator[tuple[str, PatchVerdict, str, str]]:
    """Yield name, verdict, commit and origin of each patch, alternatives last. `title` is the most characters of titles."""
    for row in rows:
        name = f"#{row.pull}{_format_title(row, title) if title else ''}"
        yield name, row.verdict, _format_commit(row), LINKS[row.strength]
    for alternative in view.alternatives:
        base = f"on `{alternative.base[:7]}`"
        yield (
            format_alternative_id(alternative.number),
            alternative.verdict,
            base,
            alternative_offer.describe_author(alternative),
        )


def _format_title(row: VerdictRow, limit: int) -> str:
    """Return the title and the author's login as plain text, which mentions and notifies nobody."""
    parts = (quote_phrase(row.title, limit), quote_phrase(row.author, _LOGIN_LIMIT))
    return "".join(f"{mark}{part}" for mark, part in zip((" ", " · "), parts, strict=True) if part)


def _list_remarks(view: VerdictView, shown: Sequence[VerdictRow]) -> Iterator[str]:
    """Yield the notes below the table, first those about what ran."""
    alternatives = (patch.verdict for patch in view.alternatives)
    yield from list_group_notes([*(row.verdict for row in shown), *alternatives])
    yield from list_notes(view, shown)


def _format_verdict(verdict: PatchVerdict) -> str:
    return f"**{VERDICTS[verdict.verdict]}**".replace(" ", "\N{NO-BREAK SPACE}")


def _format_commit(row: VerdictRow) -> str:
    return f"`{row.head[:7]}`{', changed since' if row.moved else ''}"


def _write_reasons(view: VerdictView, rows: Sequence[VerdictRow], limit: int) -> str:
    parts = [
        f"**{name}: {VERDICTS[verdict.verdict]}** "
        f"({describe_coverage(verdict.coverage, has_model=view.has_model)})\n\n"
        f"{quote_block(verdict.reason, limit)}{_write_checklist(verdict, limit)}"
        for name, verdict, *_ in _list_lines(rows, view)
        if verdict.verdict is not Verdict.NOT_JUDGED
    ]
    if not parts:
        return ""
    whose = " in the model's own words" if view.has_model else ""
    return "\n\n".join([f"<details>\n<summary>Reasons{whose}</summary>", *parts, "</details>"])


def _write_checklist(verdict: PatchVerdict, limit: int) -> str:
    lines = [f"- {line}" for line in list_checklist(verdict, limit)]
    return "\n".join(["\n\nChecklist for the issue:\n", *lines]) if lines else ""


def _write_footer(view: VerdictView) -> str:
    if view.is_learning_allowed:
        wish = "Right or wrong? Teach the bot with `/r4p agree #N` or `/r4p disagree #N <why>`."
    else:
        wish = "Right or wrong? Record it with `/r4p agree #N` or `/r4p disagree #N <why>`."
    return (
        f"{wish} `/r4p help` lists every command.\n\n"
        f"<sub>R4P bot judges patches, never people. It does not approve, merge or close.{_limit_claim(view)}</sub>"
    )


def _limit_claim(view: VerdictView) -> str:
    is_claimed = any(patch.verdict is Verdict.CORRECT for patch in view.verdicts)
    return f" {MERGEABLE_NOTE}" if is_claimed else ""
