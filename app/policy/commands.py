"""The `/r4p` grammar: the commands in a comment, their permissions and their help (pure)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from rapidfuzz import fuzz, process

from app.policy.alternative_policy import format_alternative_id
from app.values.identifiers import AlternativeNumber, PullNumber
from app.values.markdown_prose import list_paragraph_lines
from app.values.permission import Permission
from model.domain import PatchId

PREFIX = "/r4p"
MAX_COMMANDS = 5
"""Most commands of one comment that run. The reply to a sixth command names this limit."""

_READ_LIMIT = 4_096  # characters, because strangers could waste time with long Markdown
_LINE_LIMIT = 500
_MAX_PULLS = 20
_PULL = re.compile(r"(?:GH-|#)([1-9][0-9]{0,8})", re.IGNORECASE | re.ASCII)
_ALTERNATIVE = re.compile(r"A([1-9][0-9]{0,2})", re.IGNORECASE | re.ASCII)


class Verb(StrEnum):
    """The `/r4p` commands of the bot, by the word after `/r4p`."""

    VERIFY = "verify"
    STATUS = "status"
    EXPLAIN = "explain"
    AGREE = "agree"
    DISAGREE = "disagree"
    GROUP = "group"
    PROPOSE = "propose"
    OPEN = "open"
    OK = "ok"
    HELP = "help"


class Button(StrEnum):
    """Identifiers of the buttons on the bot's check runs. GitHub shows them to accounts with write access."""

    VERIFY = "r4p-verify"
    AGREE = "r4p-agree"
    DISAGREE = "r4p-disagree"


class GroupEdit(StrEnum):
    """Actions of the command `group`."""

    SHOW = "show"
    ADD = "add"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class CommandHelp:
    """Help text of one `/r4p` command."""

    usage: str
    description: str
    example: str
    needs: Permission = Permission.WRITE
    where: str = "issue or pull request"


REGISTRY: Mapping[Verb, CommandHelp] = {
    Verb.VERIFY: CommandHelp(
        usage="verify",
        description="Judge the open pull requests for this issue now.",
        example="/r4p verify",
    ),
    Verb.STATUS: CommandHelp(
        usage="status",
        description="Show which pull requests the bot compares and how far the work is.",
        needs=Permission.NONE,
        example="/r4p status",
    ),
    Verb.EXPLAIN: CommandHelp(
        usage="explain [#N|A1]",
        description="Show the reasons for the verdict, for one patch or for all.",
        needs=Permission.NONE,
        example="/r4p explain #12",
    ),
    Verb.AGREE: CommandHelp("agree [#N|A1]", "Record that the verdict is right.", "/r4p agree #12"),
    Verb.DISAGREE: CommandHelp(
        usage="disagree [#N|A1] <why>",
        description="Record that the verdict is wrong, and why.",
        example="/r4p disagree #12 it breaks on an empty list",
    ),
    Verb.GROUP: CommandHelp(
        usage="group [add|remove #N …]",
        description="Show, add or remove the pull requests that the bot compares.",
        example="/r4p group add #12 #15",
        where="issue",
    ),
    Verb.PROPOSE: CommandHelp(
        usage="propose",
        description="Let an agent of the bot write a patch and judge it beside the pull requests.",
        example="/r4p propose",
    ),
    Verb.OPEN: CommandHelp(
        usage="open A1",
        description="Open a patch of the bot as a draft pull request, if the settings allow it.",
        example="/r4p open A1",
    ),
    Verb.OK: CommandHelp(
        usage="ok [#N …]",
        description="Let the bot judge a pull request that the settings leave out until somebody approves it.",
        needs=Permission.TRIAGE,
        example="/r4p ok #12",
    ),
    Verb.HELP: CommandHelp("help", "List these commands.", "/r4p help", Permission.NONE),
}


@dataclass(frozen=True, slots=True)
class Command:
    """One parsed `/r4p` command that the bot can carry out."""

    verb: Verb
    line: str
    """The line of the comment, cut to 500 characters. Untrusted text."""
    pulls: tuple[PullNumber, ...] = ()
    """The pull requests in the command, in order. Empty: none."""
    edit: GroupEdit | None = None
    """The action of `group`; None for every other verb."""
    reason: str = ""
    """The reason of `agree` or `disagree`. Untrusted text."""
    alternative: AlternativeNumber | None = None
    """The number of the alternative in the command, such as 1 for A1; None: none."""

    @property
    def about(self) -> PatchId | None:
        """The patch that `explain`, `agree` or `disagree` names; None: all patches."""
        if self.alternative is not None:
            return format_alternative_id(self.alternative)
        return PatchId(f"#{self.pulls[0]}") if self.pulls else None


@dataclass(frozen=True, slots=True)
class Unknown:
    """A line of a comment that begins like a command but is none."""

    line: str
    problem: str
    suggestion: str | None
    """The corrected line; None: no command is similar."""


WORDLESS = frozenset({Verb.VERIFY, Verb.AGREE, Verb.DISAGREE, Verb.OPEN, Verb.OK})
"""Verbs to which the bot reacts with an emoji only, if all is well."""


def can_hold_command(body: str, mention: str | None = None) -> bool:
    """Report whether a line of `body` begins with `/r4p`, or with `@` and the App's name `mention`.

    True can be wrong, for example for a line of code. False is never wrong.
    """
    return _build_start_pattern(mention).search(_read(body)) is not None


def parse(body: str, mention: str | None = None) -> tuple[Command | Unknown, ...]:
    """Return the commands of a new comment in order, with Unknown for each line that the bot cannot carry out.

    A command is the first word of a line of plain paragraph text. `mention` is the App's name, and `@name` counts as
    `/r4p`. The function reads up to 4,096 characters. It takes up to a tenth of a second, so only a worker may call
    it, outside a transaction.
    """
    if not can_hold_command(body, mention):
        return ()
    start = _build_line_pattern(mention)
    commands: list[Command | Unknown] = []
    for line in list_paragraph_lines(_read(body)):
        if (match := start.match(line)) is None:
            continue
        written = line.strip()[:_LINE_LIMIT]
        if len(commands) == MAX_COMMANDS:
            problem = f"the bot runs {MAX_COMMANDS} commands of one comment at most, so it left this one out"
            commands.append(Unknown(written, problem, None))
            break
        commands.append(_parse_command(written, (match["rest"] or "")[:_LINE_LIMIT].split()))
    return tuple(commands)


def _read(body: str) -> str:
    """Return the first lines of a comment. Whole lines, so that no number loses its last digits."""
    if len(body) <= _READ_LIMIT:
        return body
    whole, newline, rest = body[:_READ_LIMIT].rpartition("\n")
    return whole if newline else rest


def is_allowed(verb: Verb, permission: Permission) -> bool:
    """Report whether an account with this permission may give the command `verb`. Authors get no extra right."""
    return permission.rank >= REGISTRY[verb].needs.rank


def _join_names(mention: str | None) -> str:
    names = [re.escape(PREFIX)]
    if mention:
        names.append(rf"@{re.escape(mention)}(?:\[bot\])?")
    return "|".join(names)


def _build_line_pattern(mention: str | None) -> re.Pattern[str]:
    names = _join_names(mention)
    return re.compile(rf"\s*(?:{names})(?:[:,]?\s+(?P<rest>.*)|\s*$)", re.IGNORECASE | re.DOTALL)


def _build_start_pattern(mention: str | None) -> re.Pattern[str]:
    # The blanks exclude line ends; otherwise a text of empty lines would cost its length squared.
    return re.compile(rf"(?:\A|[\r\n])[^\S\r\n]*(?:{_join_names(mention)})", re.IGNORECASE)


def _parse_command(line: str, words: list[str]) -> Command | Unknown:
    if not words:
        return Command(Verb.HELP, line)
    name = words[0].lower()
    if name not in set(Verb):
        return _suggest_verb(line, words)
    verb = Verb(name)
    if verb in {Verb.EXPLAIN, Verb.AGREE, Verb.DISAGREE}:
        return _parse_about(verb, line, words[1:])
    parsers = {Verb.GROUP: _parse_group, Verb.OPEN: _parse_open, Verb.OK: _parse_ok}
    return parsers[verb](line, words[1:]) if verb in parsers else Command(verb, line)


def _parse_group(line: str, words: list[str]) -> Command | Unknown:
    if not words:
        return Command(Verb.GROUP, line, edit=GroupEdit.SHOW)
    name, rest = words[0].lower(), words[1:]
    if name not in set(GroupEdit):
        near = _find_nearest(name, GroupEdit)
        suggestion = _join_words("group", near, rest) if near else None
        return Unknown(line, f"`group {words[0]}` is not a command", suggestion)
    edit = GroupEdit(name)
    if edit is GroupEdit.SHOW:
        return Command(Verb.GROUP, line, edit=edit)
    pulls = tuple(dict.fromkeys(filter(None, map(_parse_pull, rest))))
    if not rest or len(pulls) != len({word.strip(",") for word in rest}):
        numbered = [f"#{word.strip(',')}" for word in rest if word.strip(",").isdecimal()]
        suggestion = _join_words("group", edit, numbered) if numbered else None
        return Unknown(line, f"`group {edit}` needs pull requests written as #N", suggestion)
    if len(pulls) > _MAX_PULLS:
        return Unknown(line, f"`group {edit}` takes {_MAX_PULLS} pull requests at most", None)
    return Command(Verb.GROUP, line, pulls, edit=edit)


def _parse_about(verb: Verb, line: str, words: list[str]) -> Command | Unknown:
    pull, alternative = (
        (_parse_pull(words[0]), _parse_alternative(words[0])) if words else (None, None)
    )
    reason = " ".join(words[1:] if pull or alternative else words)
    if verb is Verb.DISAGREE and not reason:
        return Unknown(line, "`disagree` needs a reason: say what is wrong", None)
    pulls = () if pull is None else (pull,)
    kept_reason = "" if verb is Verb.EXPLAIN else reason
    return Command(verb, line, pulls, alternative=alternative, reason=kept_reason)


def _parse_open(line: str, words: list[str]) -> Command | Unknown:
    if len(words) != 1 or (alternative := _parse_alternative(words[0])) is None:
        return Unknown(line, "`open` needs one patch of the bot, written as A1", None)
    return Command(Verb.OPEN, line, alternative=alternative)


def _parse_ok(line: str, words: list[str]) -> Command | Unknown:
    pulls = tuple(dict.fromkeys(filter(None, map(_parse_pull, words))))
    if len(pulls) != len({word.strip(",") for word in words}) or len(pulls) > _MAX_PULLS:
        return Unknown(line, f"`ok` takes up to {_MAX_PULLS} pull requests as #N", None)
    return Command(Verb.OK, line, pulls)


def _parse_alternative(word: str) -> AlternativeNumber | None:
    match = _ALTERNATIVE.fullmatch(word.strip(",:"))
    return AlternativeNumber(int(match[1])) if match else None


def _parse_pull(word: str) -> PullNumber | None:
    match = _PULL.fullmatch(word.strip(","))
    return PullNumber(int(match[1])) if match else None


def _suggest_verb(line: str, words: list[str]) -> Unknown:
    near = _find_nearest(words[0].lower(), Verb)
    suggestion = _join_words(near, None, words[1:]) if near else None
    return Unknown(line, f"`{words[0]}` is not a command", suggestion)


def _find_nearest(word: str, words: type[Verb] | type[GroupEdit]) -> str | None:
    best = process.extractOne(word, list(words), scorer=fuzz.ratio, score_cutoff=60)
    return str(best[0]) if best else None


def _join_words(verb: str, edit: str | None, rest: list[str]) -> str:
    return " ".join(filter(None, [PREFIX, verb, edit, *rest]))
