"""Answers to commands: short, and only where a reaction can't say it (pure)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC

from app.comments.alternative_offer import author
from app.comments.markers import refusal_marker, reply_marker
from app.comments.notices import LINKS_NOTE, config_note
from app.comments.phrases import (
    LINKS,
    VERDICTS,
    WAITS,
    WHY_NOT,
    agreement,
    coverage,
    listed,
    one_line,
    probably,
    quotation,
    why_not_judged,
    why_unsure,
)
from app.comments.verdict_comment import headline
from app.comments.views import AlternativesStatus, GroupView, Stage, StatusView, VerdictView
from app.jobs.waits import Waits
from app.policy.alternative_policy import WhyNot, alternative_id
from app.policy.commands import PREFIX, REGISTRY, GroupEdit, Unknown, Verb
from app.policy.group_policy import LeftOut, Wait
from app.policy.rival_links import Member
from app.values.identifiers import AlternativeNumber, AskedIn, IssueNumber
from app.values.permission import Permission
from app.values.quoting import phrase
from model.domain import PatchId, PatchVerdict, Verdict

_LINE_LIMIT = 200
_REASON_LIMIT = 4_000
_EXPLAINED_AT_MOST = 8
_LISTED_AT_MOST = 50

_STAGES = {
    Stage.NOTHING: "Nothing has been judged here yet.",
    Stage.WAITING: "Not judged yet.",
    Stage.QUEUED: "Waiting for its turn.",
    Stage.JUDGING: "Being judged now.",
    Stage.JUDGED: "Judged.",
    Stage.FAILED: "The last attempt failed.",
}


def help_reply(answers: AskedIn) -> str:
    """Every command, from the registry."""
    lines = ["| Command | What it does | Who may | Where |", "| --- | --- | --- | --- |"]
    lines += [
        f"| `{PREFIX} {_cell(entry.usage)}` | {entry.description} | {_who(entry.needs)} | {entry.where} |"
        for entry in REGISTRY.values()
    ]
    advice = (
        "Write a command at the beginning of a line of a new comment or review, "
        f"for example `{REGISTRY[Verb.EXPLAIN].example}`."
    )
    return _reply(answers, "\n".join(lines), advice)


def understood_reply(answers: AskedIn, verbs: Iterable[Verb]) -> str:
    """What a reaction says under a comment: these are allowed, and taken up. A review takes no reaction."""
    return _reply(answers, f"Understood: {listed(f'`{PREFIX} {verb}`' for verb in verbs)}.")


def unknown_reply(answers: AskedIn, mistakes: Sequence[Unknown]) -> str:
    """What was not understood, with the line as it should read."""
    return _reply(answers, *(_mistake(mistake) for mistake in mistakes), _help_line())


def forbidden_reply(answers: AskedIn, verb: Verb, has: Permission) -> str:
    """Which right is missing."""
    needed = REGISTRY[verb].needs
    return _reply(
        answers,
        f"`{PREFIX} {verb}` needs {needed} access to this repository; you have {has} access. "
        "Being a pull request's author doesn't change that: a verdict isn't drawn again until "
        "it pleases.",
        f"`{PREFIX} status` and `{PREFIX} explain` are open to everyone.",
    )


def status_reply(answers: AskedIn, issue: IssueNumber, status: StatusView) -> str:
    """Which pull requests are compared and how far the work is."""
    detail = f" {_sentence(status.detail)}" if status.detail else ""
    where = f" [The verdict]({status.comment})" if status.comment else ""
    return _reply(
        answers,
        f"**#{issue}:** {_STAGES[status.stage]}{detail}{where}",
        _waits(status.waits) if status.waits else "",
        _members(status.members),
        _alternatives(status.alternatives) if status.alternatives else "",
        _left_out(status.left_out),
        "" if status.all_links_read else LINKS_NOTE,
        config_note(status.config_problem) if status.config_problem else "",
    )


def explain_reply(answers: AskedIn, view: VerdictView, about: PatchId | None) -> str:
    """The reasons at length, for one patch or for all."""
    patches = list(_patches(view))
    named = [one for one in patches if about in {None, one.name}]
    if about is not None and not named:
        return no_such_reply(answers, view, about)
    more = len(named) - _EXPLAINED_AT_MOST
    rest = f"{more} more: `{PREFIX} explain #N` gives the reasons of one." if more > 0 else ""
    shown = named[:_EXPLAINED_AT_MOST]
    return _reply(
        answers, f"{headline(view).capitalize()}.", *(_explained(one, view) for one in shown), rest
    )


def no_verdict_reply(answers: AskedIn) -> str:
    """There is nothing to explain or to agree with."""
    return _reply(
        answers,
        "There is no verdict here yet.",
        f"`{PREFIX} status` tells how far the work is; `{PREFIX} verify` starts it.",
    )


def group_reply(answers: AskedIn, group: GroupView) -> str:
    """The group as it is after a `group` command."""
    done = {GroupEdit.ADD: "Compared from now on", GroupEdit.REMOVE: "Left out from now on"}
    named = listed(f"#{number}" for number in group.named) if group.named else ""
    edited = f"{done[group.edit]}: {named}." if group.edit in done else ""
    return _reply(answers, edited, _members(group.members))


def waiting_reply(asked_in: AskedIn, wait: Wait, *, all_links_read: bool = True) -> str:
    """Why a `verify` doesn't start."""
    return _blocks(
        refusal_marker(asked_in),
        f"Not judged: {_sentence(wait.reason)}",
        _left_out(wait.left_out),
        "" if all_links_read else LINKS_NOTE,
    )


def proposing_reply(answers: AskedIn, agent: str, model: str | None) -> str:
    """An alternative will be written and judged: `/r4p propose` was taken up."""
    writer = f"`{_named(agent)}`" + (f" with `{_named(model)}`" if model else "")
    return _reply(
        answers,
        f"{writer} will write an alternative: it reads the code and edits a copy, and runs nothing of it. "
        "What it hands in is judged beside the pull requests, and the verdict shows it.",
        f"`{PREFIX} status` tells how far it is.",
    )


def not_proposing_reply(answers: AskedIn, reason: WhyNot) -> str:
    """`/r4p propose` is refused at once."""
    return _reply(answers, f"No alternative: {WHY_NOT[reason]}.")


def no_alternative_reply(asked_in: AskedIn, reason: WhyNot) -> str:
    """What was taken up came to nothing, and there is no verdict that could say so."""
    return _blocks(refusal_marker(asked_in), f"No alternative: {WHY_NOT[reason]}.")


def trying_again_reply(answers: AskedIn, alternatives: Sequence[AlternativeNumber]) -> str:
    """A maintainer's words lead to a second attempt."""
    named = listed(map(alternative_id, alternatives))
    return _reply(answers, f"An agent will try {named} once more, with what you said as a hint.")


def not_trying_again_reply(answers: AskedIn, reason: WhyNot) -> str:
    """A maintainer's words are recorded, and no second attempt follows."""
    return _reply(answers, f"Recorded, and no second attempt: {WHY_NOT[reason]}.")


def no_such_reply(answers: AskedIn, view: VerdictView, about: PatchId | None) -> str:
    """An opinion about a patch that was not judged here."""
    known = listed(one.name for one in _patches(view))
    return _reply(answers, f"{about} is not among the patches compared here: {known}.")


def failed_reply(answers: AskedIn, what: str, fix: str | None = None) -> str:
    """A command could not be carried out; both texts come from us, not from strangers."""
    return _reply(answers, f"That didn't work: {_sentence(what)}", _sentence(fix) if fix else "")


def together(answers: AskedIn, replies: Sequence[str]) -> str:
    """The answers to several commands of one comment or review as one."""
    marker = reply_marker(answers)
    said = [reply.removeprefix(marker).strip() for reply in replies]
    return _reply(answers, "\n\n---\n\n".join(said))


def _reply(answers: AskedIn, *blocks: str) -> str:
    return _blocks(reply_marker(answers), *blocks)


def _blocks(*blocks: str) -> str:
    return "\n\n".join(filter(None, blocks)) + "\n"


def _mistake(mistake: Unknown) -> str:
    line = f"> {phrase(mistake.line, _LINE_LIMIT)}"
    problem = f"{one_line(mistake.problem, _LINE_LIMIT)}."
    if mistake.suggestion is None:
        return f"{line}\n\n{problem}"
    meant = one_line(f"`{mistake.suggestion}`", _LINE_LIMIT)
    return f"{line}\n\n{problem} Did you mean {meant}?"


def _help_line() -> str:
    return f"`{PREFIX} help` lists every command."


def _who(needs: Permission) -> str:
    return "anyone" if needs is Permission.NONE else f"{needs} access"


def _cell(usage: str) -> str:
    return usage.replace("|", "\\|")


def _named(text: str) -> str:
    return " ".join(text.replace("`", "'").split())[:100]


def _waits(waits: Waits) -> str:
    times = "1 attempt" if waits.times == 1 else f"{waits.times} attempts"
    since = f"{waits.since.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    return f"It has waited since {since}, {times} so far: {WAITS[waits.who]}."


def _alternatives(status: AlternativesStatus) -> str:
    """What there is of ours, what is being written, what it cost, why there isn't more."""
    there = listed(map(alternative_id, status.there)) if status.there else "none"
    running = f", {status.running} being written or about to be" if status.running else ""
    spent, budget = status.spent, status.budget
    lines = [
        f"Alternatives by the bot: {there}{running}.",
        f"Spent on them today: {spent.tokens:,} of {budget.tokens:,} tokens, {spent.seconds:,.0f} of {budget.seconds:,} s.",
    ]
    if status.last_failure is not None:
        lines.append(f"The last attempt came to nothing: {WHY_NOT[status.last_failure]}.")
    return "\n".join(f"- {line}" for line in lines)


def _members(members: Sequence[Member]) -> str:
    if not members:
        return "No pull request is linked to this issue."
    lines = [f"- #{one.number} ({LINKS[one.strength]})" for one in members[:_LISTED_AT_MOST]]
    return "\n".join(["Compared here:", *lines, *_more(members)])


def _left_out(left_out: Sequence[LeftOut]) -> str:
    if not left_out:
        return ""
    lines = [f"- #{one.number}: {one_line(one.reason, 300)}" for one in left_out[:_LISTED_AT_MOST]]
    return "\n".join(["Left out:", *lines, *_more(left_out)])


def _more(items: Sequence[object]) -> Iterable[str]:
    rest = len(items) - _LISTED_AT_MOST
    return [f"- and {rest} more"] if rest > 0 else []


@dataclass(frozen=True, slots=True)
class _Patch:
    name: str
    whence: str
    verdict: PatchVerdict


def _patches(view: VerdictView) -> Iterator[_Patch]:
    """All that were judged together, ours last."""
    for row in view.rows:
        yield _Patch(f"#{row.pull}", f"at `{row.head[:7]}`", row.verdict)
    for one in view.alternatives:
        yield _Patch(alternative_id(one.number), f"on `{one.base[:7]}`, {author(one)}", one.verdict)


def _explained(patch: _Patch, view: VerdictView) -> str:
    verdict = patch.verdict
    said = [f"**{patch.name}: {VERDICTS[verdict.verdict]}** {patch.whence}"]
    if verdict.verdict is not Verdict.NOT_JUDGED:
        said += [f"agreement {agreement(verdict)}"] if view.asked else []
        said += [probably(verdict, view.history)]
        said += [coverage(verdict.coverage, has_model=view.has_model)]
    unsure = why_unsure([verdict], has_model=view.has_model, history=view.history)
    blocks = [", ".join(said), quotation(why_not_judged(verdict), _REASON_LIMIT), unsure]
    return "\n\n".join(block for block in blocks if block)


def _sentence(text: str) -> str:
    said = one_line(text, 500)
    said = said[:1].upper() + said[1:]
    return said if said.endswith((".", "…", "?", "!")) else f"{said}."
