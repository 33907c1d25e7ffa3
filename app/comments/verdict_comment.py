"""The one comment about a group: who is right comes first, why stands in a fold (pure)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.comments import alternative_offer
from app.comments.markers import group_marker, verdict_json
from app.comments.notices import LINKS_NOTE, config_note
from app.comments.phrases import (
    FINDINGS,
    LINKS,
    VERDICTS,
    agreement,
    coverage,
    listed,
    one_line,
    probability,
    pulls,
    quotation,
    why_not_judged,
    why_unsure,
)
from app.comments.views import Finding, Row, VerdictView
from app.policy.alternative_policy import alternative_id
from app.settings.repo_config import Mode
from app.values.quoting import phrase
from model.domain import PatchVerdict, Verdict

LONGEST_BODY = 60_000
"""GitHub refuses 65,536 characters; what is counted there may be more than what is counted here."""

_NAMED_AT_MOST = 20
_REASON_LIMIT = 300
_DIFF_LIMIT = 20_000
_NOBODY_READ = "no language model read it"


@dataclass(frozen=True, slots=True)
class _Room:
    """How much a comment may say; the next one says less."""

    rows: int
    reason: int
    """Characters of each reason; 0: none."""
    document: bool
    diff: int = 0
    """Characters of an alternative's diff."""
    notice: str = ""


_REASONS_CUT = "Reasons are shortened: the comment would be too long for GitHub."
_DOCUMENT_LEFT_OUT = (
    "Reasons are shortened and the machine-readable verdict is left out: "
    "the comment would be too long for GitHub."
)
_ROWS_LEFT_OUT = (
    "Only the first {shown} of {all} pull requests are listed, without reasons: "
    "the comment would be too long for GitHub."
)
_ROOMS = (
    _Room(1_000, 2_000, document=True, diff=_DIFF_LIMIT),
    _Room(1_000, 600, document=True, diff=_DIFF_LIMIT, notice=_REASONS_CUT),
    _Room(1_000, 200, document=False, notice=_DOCUMENT_LEFT_OUT),
    _Room(30, 0, document=False, notice=_ROWS_LEFT_OUT),
)


def verdict_comment(view: VerdictView) -> str:
    """The comment as Markdown, at most LONGEST_BODY long; equal views give equal text."""
    *roomy, smallest = _ROOMS
    for room in roomy:
        body = _body(view, room)
        if _size(body) <= LONGEST_BODY:
            return body
    return _body(view, smallest)


def headline(view: VerdictView) -> str:
    """The answer in one line. Several can be correct, or none."""
    said = [_of_pulls(view)] if view.rows else []
    return "; ".join([*said, *([alternative_offer.count(view)] if view.alternatives else [])])


def _of_pulls(view: VerdictView) -> str:
    verdicts = [row.verdict.verdict for row in view.rows]
    correct, judged = verdicts.count(Verdict.CORRECT), len(verdicts)
    if judged == 1:
        return f"{pulls(1)}: {VERDICTS[verdicts[0]].lower()}"
    if correct:
        return f"{correct} of {pulls(judged)} judged correct"
    if all(verdict is Verdict.INCORRECT for verdict in verdicts):
        return f"none of {pulls(judged)} judged correct"
    if set(verdicts) == {Verdict.NOT_JUDGED}:
        return f"none of {pulls(judged)} could be judged"
    return f"no clear answer for {pulls(judged)}"


def _is_judged(view: VerdictView) -> bool:
    """Whether there is an opinion of any patch."""
    return any(one.verdict is not Verdict.NOT_JUDGED for one in view.verdicts)


def _body(view: VerdictView, room: _Room) -> str:
    shown = view.rows[: room.rows]
    blocks = [
        f"{group_marker(view.group)}\n### R4P verdict{_mode(view.mode)}: {headline(view)}",
        _demonstration() if view.is_demonstration else "",
        _table(shown, view),
        _how(view) if _is_judged(view) else "",
        "\n".join(f"- {note}" for note in _notes(view, shown)),
        room.notice.format(shown=len(shown), all=len(view.rows)),
        alternative_offer.offer(view, room.diff),
        _reasons(view, shown, room.reason) if room.reason else "",
        _footer(view),
        verdict_json(view.document) if room.document else "",
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _size(body: str) -> int:
    """Length as JavaScript counts it, which is never less than ours."""
    return len(body.encode("utf-16-le", "surrogatepass")) // 2


def _mode(mode: Mode) -> str:
    return "" if mode is Mode.ENFORCE else f" ({mode})"


def _demonstration() -> str:
    return (
        "> [!WARNING]\n"
        "> Judged by the small demonstration model, which shows how the bot works. "
        "Its verdicts are no better than guesses: don't act on them."
    )


def _table(rows: Sequence[Row], view: VerdictView) -> str:
    shown = list(_lines(rows, view))
    with_probability = any(verdict.probability is not None for _, verdict, *_ in shown)
    head = ["Patch" if view.alternatives else "PR", "Verdict"] + ["Agreement"] * (view.asked > 0)
    head += ["P(correct)"] * with_probability + ["Commit", "Link"]
    lines = [head, ["---"] * len(head)]
    for name, verdict, *whence in shown:
        cells = [name, _verdict(verdict)] + [agreement(verdict)] * (view.asked > 0)
        cells += [probability(verdict.probability)] * with_probability
        lines.append([*cells, *whence])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _lines(rows: Sequence[Row], view: VerdictView) -> Iterator[tuple[str, PatchVerdict, str, str]]:
    """Name, verdict, commit and where it comes from; ours last."""
    for row in rows:
        yield f"#{row.pull}", row.verdict, _commit(row), LINKS[row.strength]
    for one in view.alternatives:
        base = f"on `{one.base[:7]}`"
        yield alternative_id(one.number), one.verdict, base, alternative_offer.author(one)


def _verdict(verdict: PatchVerdict) -> str:
    return f"**{VERDICTS[verdict.verdict]}**".replace(" ", "\N{NO-BREAK SPACE}")


def _commit(row: Row) -> str:
    return f"`{row.head[:7]}`{', changed since' if row.moved else ''}"


def _how(view: VerdictView) -> str:
    """How the answer came about, in one line."""
    if not view.has_model:
        said = [f"{_comparison(view)}.", _history(view), _why_unsure(view)]
        return " ".join(one for one in said if one)
    together = "side by side" if view.parts == 1 else f"in {view.parts} overlapping groups"
    if len(view.verdicts) == 1:
        together = "alone, without a rival to compare it with"
    judged = f"Judged by `{_code(view.verifier)}` {together}{_votes(view)}"
    return f"{judged}. {_who(view)}. {_history(view)}"


def _votes(view: VerdictView) -> str:
    if not view.asked:
        return ""
    unread = view.asked - view.valid
    votes = "1 vote" if view.asked == 1 else f"{view.asked} votes, each in another order"
    remarks = [f"{unread} could not be read"] if unread else []
    remarks += [f"{view.forced} only answered when asked once more"] if view.forced else []
    return f": {votes} ({', '.join(remarks)})" if remarks else f": {votes}"


def _comparison(view: VerdictView) -> str:
    return (
        f"No language model read the patches: `{_code(view.verifier)}` compared features of the group "
        "(how alike its patches are, their size, what of the issue they touch) "
        f"by fitted rules `{_fingerprint(view)}`"
    )


def _why_unsure(view: VerdictView) -> str | None:
    return why_unsure(view.verdicts, has_model=view.has_model, history=view.history)


def _who(view: VerdictView) -> str:
    return (
        f"Model `{_code(view.engine.model)}` on {phrase(view.engine.name, 60)}, "
        f"prompt `{_fingerprint(view)}`"
    )


def _fingerprint(view: VerdictView) -> str:
    return _code(view.engine.prompt_fingerprint)[:12]


def _history(view: VerdictView) -> str:
    if view.history is None:
        return "No probabilities yet: not enough history."
    if all(one.probability is None for one in view.verdicts):
        return "No probabilities: there is no opinion to weigh."
    return f"Probabilities rest on what became of {view.history} earlier issues."


def _code(text: str) -> str:
    return " ".join(text.replace("`", "'").split())[:100]


def _notes(view: VerdictView, rows: Sequence[Row]) -> Iterator[str]:
    """What a reader should know before relying on the table."""
    for row in rows:
        yield from _row_notes(row, has_model=view.has_model)
    yield from alternative_offer.notes(view)
    if view.issue_findings:
        how = "the model read it without" if view.has_model else _NOBODY_READ
        yield f"The issue's text held {_found(view.issue_findings)}; {how}."
    for left in view.left_out[:_NAMED_AT_MOST]:
        yield f"#{left.number} is left out: {one_line(left.reason, _REASON_LIMIT)}."
    if len(view.left_out) > _NAMED_AT_MOST:
        yield f"{len(view.left_out) - _NAMED_AT_MOST} more are left out."
    if not view.all_links_read:
        yield LINKS_NOTE
    if view.config_problem:
        yield config_note(view.config_problem)


def _row_notes(row: Row, *, has_model: bool) -> Iterator[str]:
    verdict = row.verdict
    if verdict.verdict is Verdict.NOT_JUDGED:
        yield f"#{row.pull} was not judged: {phrase(why_not_judged(verdict), _REASON_LIMIT)}."
    elif verdict.coverage.files_seen < verdict.coverage.files:
        yield f"#{row.pull} was judged in part: {coverage(verdict.coverage, has_model=has_model)}."
    if row.moved:
        yield (
            f"#{row.pull} has changed since: its verdict speaks of `{row.head[:7]}` only, "
            "and the new commits will be judged."
        )
    if row.findings:
        how = "the model was shown them as such" if has_model else _NOBODY_READ
        yield f"#{row.pull} holds {_found(row.findings)}; {how}."


def _found(findings: Sequence[Finding]) -> str:
    return listed(FINDINGS[finding] for finding in dict.fromkeys(findings))


def _reasons(view: VerdictView, rows: Sequence[Row], limit: int) -> str:
    parts = [
        f"**{name}: {VERDICTS[verdict.verdict]}** "
        f"({coverage(verdict.coverage, has_model=view.has_model)})\n\n"
        f"{quotation(verdict.reason, limit)}"
        for name, verdict, *_ in _lines(rows, view)
        if verdict.verdict is not Verdict.NOT_JUDGED
    ]
    if not parts:
        return ""
    whose = ", from the model's own words" if view.has_model else ""
    return "\n\n".join([f"<details>\n<summary>Reasons{whose}</summary>", *parts, "</details>"])


def _footer(view: VerdictView) -> str:
    return (
        "Right or wrong? `/r4p agree #N` or `/r4p disagree #N <why>` teaches the bot; "
        "`/r4p help` lists every command.\n\n"
        f"<sub>R4P bot judges patches, never people; it doesn't approve, merge or close. "
        f"{_spent(view)}.</sub>"
    )


def _spent(view: VerdictView) -> str:
    seconds = f"{view.total_seconds:.0f} s" if view.total_seconds >= 1 else "Less than a second"
    tokens = view.tokens.prompt + view.tokens.completion
    return f"{seconds}, {tokens:,} tokens" if tokens else seconds
