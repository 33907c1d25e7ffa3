"""Replies to commands. The bot writes one only if a reaction is not enough (pure)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC

from app.comments.alternative_offer import describe_author, list_status
from app.comments.evidence_text import write_grounds
from app.comments.headline import write_headline
from app.comments.markers import format_refusal_marker, format_reply_marker
from app.comments.notices import LINKS_NOTE, write_config_note, write_suite_note
from app.comments.phrases import (
    LINKS,
    REFUSALS,
    VERDICTS,
    WAITS,
    explain_not_judged,
    explain_unsure,
    join_names,
    quote_block,
    quote_line,
)
from app.comments.views import GroupProgress, GroupView, StatusView, VerdictView
from app.jobs.waits import Waits
from app.policy.alternative_policy import RefusalReason, format_alternative_id
from app.policy.command_registry import describe_access, write_command_rows
from app.policy.commands import PREFIX, REGISTRY, GroupEdit, Unknown, Verb
from app.policy.group_policy import LeftOutPull, WaitForMore
from app.policy.rival_links import Member
from app.values.identifiers import AlternativeNumber, CommandSource, IssueNumber
from app.values.permission import Permission
from app.values.quoting import quote_phrase
from model.domain import PatchId, PatchVerdict, Verdict

_LINE_LIMIT = 200
_REASON_LIMIT = 4_000
_CHECKLIST_LIMIT = 1_000
_EXPLAINED_AT_MOST = 8
_LISTED_AT_MOST = 50

_STAGES = {
    GroupProgress.NOTHING: "The bot has judged nothing here yet.",
    GroupProgress.WAITING: "Not judged yet.",
    GroupProgress.QUEUED: "Waiting in the queue.",
    GroupProgress.JUDGING: "The bot is judging now.",
    GroupProgress.JUDGED: "Judged.",
    GroupProgress.FAILED: "The last attempt failed.",
}


def write_help_reply(source: CommandSource) -> str:
    """Return the reply to `/r4p help` in the comment or review `source`: a Markdown table of every command."""
    lines = ["| Command | What it does | Who may | Where |", "| --- | --- | --- | --- |"]
    lines += [
        f"| `{_escape_cell(usage)}` | {description} | {access} | {where} |"
        for usage, description, access, where in write_command_rows()
    ]
    advice = (
        "Write a command at the beginning of a line of a new comment or review, "
        f"for example: `{REGISTRY[Verb.EXPLAIN].example}`."
    )
    return _reply(source, "\n".join(lines), advice)


def write_understood_reply(source: CommandSource, verbs: Iterable[Verb]) -> str:
    """Return the reply that confirms the commands `verbs` in the review `source`, because reviews take no reaction."""
    return _reply(source, f"Understood: {join_names(f'`{PREFIX} {verb}`' for verb in verbs)}.")


def write_unknown_reply(source: CommandSource, mistakes: Sequence[Unknown]) -> str:
    """Return the reply that corrects `mistakes`: lines in the comment or review `source` that are no valid command."""
    return _reply(source, *(_correct_mistake(mistake) for mistake in mistakes), _offer_help())


def write_forbidden_reply(source: CommandSource, verb: Verb, has: Permission) -> str:
    """Return the reply that the command `verb` needs a higher permission than `has`, the sender's own."""
    needed = describe_access(REGISTRY[verb].needs)
    return _reply(
        source,
        f"`{PREFIX} {verb}` needs {needed} to this repository; you have {has} access. "
        "Authors of pull requests get no extra right, so that nobody repeats a verdict until it "
        "pleases.",
        f"`{PREFIX} status` and `{PREFIX} explain` work for {describe_access(Permission.NONE)}.",
    )


def write_status_reply(source: CommandSource, issue: IssueNumber, status: StatusView) -> str:
    """Return the reply to `/r4p status` in the comment or review `source`: the state of the work on `issue`."""
    detail = f" {_finish(status.detail)}" if status.detail else ""
    where = f" [The verdict]({status.comment})" if status.comment else ""
    return _reply(
        source,
        f"**#{issue}:** {_STAGES[status.stage]}{detail}{where}",
        _describe_wait(status.waits) if status.waits else "",
        _list_members(status.members),
        list_status(status.alternatives) if status.alternatives else "",
        write_suite_note(status.tests) if status.tests else "",
        _list_left_out(status.left_out),
        "" if status.all_links_read else LINKS_NOTE,
        write_config_note(status.config_problem) if status.config_problem else "",
    )


def write_explanation_reply(source: CommandSource, view: VerdictView, about: PatchId | None) -> str:
    """Return the reply to `/r4p explain` in `source`: why the patch `about` (None: each) got its verdict."""
    patches = list(_list_patches(view))
    selected = [patch for patch in patches if about in {None, patch.name}]
    if about is not None and not selected:
        return write_no_such_patch_reply(source, view, about)
    more = len(selected) - _EXPLAINED_AT_MOST
    rest = (
        f"{more} more: `{PREFIX} explain #N` gives the reasons for one patch." if more > 0 else ""
    )
    shown, headline = selected[:_EXPLAINED_AT_MOST], write_headline(view)
    return _reply(
        source,
        f"{headline[:1].upper()}{headline[1:]}.",
        *(_explain(patch, view) for patch in shown),
        rest,
    )


def write_no_verdict_reply(source: CommandSource) -> str:
    """Return the reply to a command in `source`, a comment or review, that needs a verdict where there is none yet."""
    return _reply(
        source,
        "There is no verdict here yet.",
        f"`{PREFIX} status` shows how far the work is. `{PREFIX} verify` starts it.",
    )


def write_group_reply(source: CommandSource, group: GroupView) -> str:
    """Return the reply to `/r4p group` in `source`: the pull requests added or removed, and all compared ones."""
    actions = {GroupEdit.ADD: "Added", GroupEdit.REMOVE: "Removed"}
    names = join_names(f"#{number}" for number in group.named) if group.named else ""
    edit = f"{actions[group.edit]}: {names}." if group.edit in actions else ""
    return _reply(source, edit, _list_members(group.members))


def write_waiting_reply(
    asked_in: CommandSource, wait: WaitForMore, *, all_links_read: bool = True
) -> str:
    """Return the reply to `/r4p verify` in the comment or review `asked_in`: why the bot does not judge yet."""
    return _join_blocks(
        format_refusal_marker(asked_in),
        f"Not judged: {_finish(wait.reason)}",
        _list_left_out(wait.left_out),
        "" if all_links_read else LINKS_NOTE,
    )


def write_proposing_reply(source: CommandSource, agent: str, model: str | None) -> str:
    """Return the reply to `/r4p propose` in the comment or review `source`: `agent` will write a patch with `model`."""
    writer = f"`{_clean(agent)}`" + (f" with `{_clean(model)}`" if model else "")
    return _reply(
        source,
        f"{writer} will write an alternative. It reads the code, edits a copy and runs nothing. "
        "The bot judges its patch beside the pull requests and shows it in the verdict.",
        f"`{PREFIX} status` shows how far the work is.",
    )


def write_proposal_refused_reply(source: CommandSource, reason: RefusalReason) -> str:
    """Return the reply to `/r4p propose` in the comment or review `source`: the bot refuses it for `reason`."""
    return _reply(source, f"No alternative: {REFUSALS[reason]}.")


def write_no_alternative_reply(asked_in: CommandSource, reason: RefusalReason) -> str:
    """Return the later reply to the command in `asked_in`: no agent wrote an alternative, for `reason`.

    The bot sends it where the issue has no verdict comment that could say so.
    """
    return _join_blocks(format_refusal_marker(asked_in), f"No alternative: {REFUSALS[reason]}.")


def write_retry_reply(source: CommandSource, alternatives: Sequence[AlternativeNumber]) -> str:
    """Return the reply to `/r4p disagree`: an agent will try `alternatives` again with the maintainer's reason."""
    names = join_names(map(format_alternative_id, alternatives))
    return _reply(source, f"An agent will try {names} again, with your reason as feedback.")


def write_no_retry_reply(source: CommandSource, reason: RefusalReason) -> str:
    """Return the reply to `/r4p disagree`: the bot recorded it, and `reason` prevents a second attempt."""
    return _reply(source, f"Recorded. There is no second attempt: {REFUSALS[reason]}.")


def write_no_such_patch_reply(
    source: CommandSource, view: VerdictView, about: PatchId | None
) -> str:
    """Return the reply that no compared patch is called `about`. It lists the names of all compared patches."""
    names = join_names(patch.name for patch in _list_patches(view))
    return _reply(source, f"{about} is not among the patches compared here: {names}.")


def write_failed_reply(source: CommandSource, what: str, fix: str | None = None) -> str:
    """Return the reply that a command failed: `what` happened, and `fix` helps. Both are the bot's own texts."""
    return _reply(source, f"The command failed: {_finish(what)}", _finish(fix) if fix else "")


def join_replies(source: CommandSource, replies: Sequence[str]) -> str:
    """Join the replies to several commands of the comment or review `source` into one reply."""
    marker = format_reply_marker(source)
    texts = [reply.removeprefix(marker).strip() for reply in replies]
    return _reply(source, "\n\n---\n\n".join(texts))


def _reply(source: CommandSource, *blocks: str) -> str:
    return _join_blocks(format_reply_marker(source), *blocks)


def _join_blocks(*blocks: str) -> str:
    return "\n\n".join(filter(None, blocks)) + "\n"


def _correct_mistake(mistake: Unknown) -> str:
    line = f"> {quote_phrase(mistake.line, _LINE_LIMIT)}"
    problem = f"{quote_line(mistake.problem, _LINE_LIMIT)}."
    if mistake.suggestion is None:
        return f"{line}\n\n{problem}"
    meant = quote_line(f"`{mistake.suggestion}`", _LINE_LIMIT)
    return f"{line}\n\n{problem} Did you mean {meant}?"


def _offer_help() -> str:
    return f"`{PREFIX} help` lists every command."


def _escape_cell(usage: str) -> str:
    return usage.replace("|", "\\|")


def _clean(text: str) -> str:
    return " ".join(text.replace("`", "'").split())[:100]


def _describe_wait(waits: Waits) -> str:
    times = "1 attempt" if waits.times == 1 else f"{waits.times} attempts"
    since = f"{waits.since.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    return f"Waiting since {since}, {times} so far: {WAITS[waits.who]}."


def _list_members(members: Sequence[Member]) -> str:
    if not members:
        return "No pull request is linked to this issue."
    lines = [f"- #{m.number} ({LINKS[m.strength]})" for m in members[:_LISTED_AT_MOST]]
    return "\n".join(["Compared here:", *lines, *_count_rest(members)])


def _list_left_out(left_out: Sequence[LeftOutPull]) -> str:
    if not left_out:
        return ""
    lines = [f"- #{p.number}: {quote_line(p.reason, 300)}" for p in left_out[:_LISTED_AT_MOST]]
    return "\n".join(["Left out:", *lines, *_count_rest(left_out)])


def _count_rest(items: Sequence[object]) -> Iterable[str]:
    rest = len(items) - _LISTED_AT_MOST
    return [f"- and {rest} more"] if rest > 0 else []


@dataclass(frozen=True, slots=True)
class _Patch:
    name: str
    origin: str
    verdict: PatchVerdict


def _list_patches(view: VerdictView) -> Iterator[_Patch]:
    """Yield all patches of the group, alternatives last."""
    for row in view.rows:
        yield _Patch(f"#{row.pull}", f"at `{row.head[:7]}`", row.verdict)
    for patch in view.alternatives:
        yield _Patch(
            format_alternative_id(patch.number),
            f"on `{patch.base[:7]}`, {describe_author(patch)}",
            patch.verdict,
        )


def _explain(patch: _Patch, view: VerdictView) -> str:
    verdict = patch.verdict
    head = f"**{patch.name}: {VERDICTS[verdict.verdict]}** {patch.origin}"
    is_judged = verdict.verdict is not Verdict.NOT_JUDGED
    grounds = write_grounds(verdict, view.grounds, _CHECKLIST_LIMIT) if is_judged else ""
    unsure = explain_unsure([verdict], has_model=view.has_model, history=view.history)
    blocks = [head, grounds, quote_block(explain_not_judged(verdict), _REASON_LIMIT), unsure]
    return "\n\n".join(block for block in blocks if block)


def _finish(text: str) -> str:
    line = quote_line(text, 500)
    line = line[:1].upper() + line[1:]
    return line if line.endswith((".", "…", "?", "!")) else f"{line}."
