"""The `/r4p` grammar: reads the commands in a comment, by the words that the registry lists for each (pure)."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from app.policy.alternative_policy import format_alternative_id
from app.policy.command_registry import (
    PREFIX,
    REGISTRY,
    WORDLESS,
    Arguments,
    CommandHelp,
    Verb,
    is_allowed,
)
from app.values.identifiers import AlternativeNumber, PullNumber
from app.values.markdown_prose import list_paragraph_lines
from app.values.text_matching import find_nearest
from model.domain import PatchId

__all__ = [
    "MAX_COMMANDS",
    "PREFIX",
    "REGISTRY",
    "WORDLESS",
    "Button",
    "Command",
    "CommandHelp",
    "GroupEdit",
    "Unknown",
    "Verb",
    "can_hold_command",
    "is_allowed",
    "parse",
]

MAX_COMMANDS = 5
"""Most commands of one comment that run. The reply to a sixth command names this limit."""

_READ_LIMIT = 4_096  # characters, because strangers could waste time with long Markdown
_LINE_LIMIT = 500
_MAX_PULLS = 20
_MAX_LOGINS = 5
_PULL = re.compile(r"(?:GH-|#)([1-9][0-9]{0,8})", re.IGNORECASE | re.ASCII)
_LOGIN = re.compile(r"@?([a-z0-9][a-z0-9-]{0,38})", re.IGNORECASE | re.ASCII)
_ALTERNATIVE = re.compile(r"A([1-9][0-9]{0,2})", re.IGNORECASE | re.ASCII)


class Button(StrEnum):
    """Identifiers of the buttons on the bot's check runs. GitHub shows them to accounts with write access."""

    VERIFY = "r4p-verify"
    AGREE = "r4p-agree"
    DISAGREE = "r4p-disagree"


class GroupEdit(StrEnum):
    """Actions of the commands `group` and `delegate`."""

    SHOW = "show"
    ADD = "add"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class Command:
    """One parsed `/r4p` command that the bot can carry out."""

    verb: Verb
    line: str
    """The line of the comment, cut to 500 characters. Untrusted text."""
    pulls: tuple[PullNumber, ...] = ()
    """The pull requests in the command, in order. Empty: none."""
    edit: GroupEdit | None = None
    """The action of `group` or `delegate`; None for every other verb."""
    reason: str = ""
    """The reason of `agree` or `disagree`. Untrusted text."""
    alternative: AlternativeNumber | None = None
    """The number of the alternative in the command, such as 1 for A1; None: none."""
    logins: tuple[str, ...] = ()
    """The people in the command, in lower case."""

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
    return _PARSERS[REGISTRY[verb].takes](verb, line, words[1:])


def _parse_nothing(verb: Verb, line: str, _words: list[str]) -> Command:
    return Command(verb, line)


def _parse_group(_verb: Verb, line: str, words: list[str]) -> Command | Unknown:
    if not words:
        return Command(Verb.GROUP, line, edit=GroupEdit.SHOW)
    name, rest = words[0].lower(), words[1:]
    if name not in set(GroupEdit):
        near = find_nearest(name, GroupEdit)
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


def _parse_open(_verb: Verb, line: str, words: list[str]) -> Command | Unknown:
    if len(words) != 1 or (alternative := _parse_alternative(words[0])) is None:
        return Unknown(line, "`open` needs one patch of the bot, written as A1", None)
    return Command(Verb.OPEN, line, alternative=alternative)


def _parse_ok(_verb: Verb, line: str, words: list[str]) -> Command | Unknown:
    pulls = tuple(dict.fromkeys(filter(None, map(_parse_pull, words))))
    if len(pulls) != len({word.strip(",") for word in words}) or len(pulls) > _MAX_PULLS:
        return Unknown(line, f"`ok` takes up to {_MAX_PULLS} pull requests as #N", None)
    return Command(Verb.OK, line, pulls)


def _parse_logins(verb: Verb, line: str, words: list[str]) -> Command | Unknown:
    """Read `delegate LOGIN …` or `delegate remove LOGIN …`; without any login, the command shows the delegates."""
    edit = GroupEdit.ADD
    if words and words[0].lower() in {GroupEdit.ADD, GroupEdit.REMOVE}:
        edit, words = GroupEdit(words[0].lower()), words[1:]
    elif not words:
        return Command(verb, line, edit=GroupEdit.SHOW)
    matches = [_LOGIN.fullmatch(word.strip(",")) for word in words]
    logins = tuple(dict.fromkeys(match[1].lower() for match in matches if match))
    if not words or None in matches or len(words) > _MAX_LOGINS:
        return Unknown(line, f"`{verb} {edit}` takes 1 to {_MAX_LOGINS} logins of people", None)
    return Command(verb, line, edit=edit, logins=logins)


def _parse_alternative(word: str) -> AlternativeNumber | None:
    match = _ALTERNATIVE.fullmatch(word.strip(",:"))
    return AlternativeNumber(int(match[1])) if match else None


def _parse_pull(word: str) -> PullNumber | None:
    match = _PULL.fullmatch(word.strip(","))
    return PullNumber(int(match[1])) if match else None


def _suggest_verb(line: str, words: list[str]) -> Unknown:
    near = find_nearest(words[0].lower(), Verb)
    suggestion = _join_words(near, None, words[1:]) if near else None
    return Unknown(line, f"`{words[0]}` is not a command", suggestion)


def _join_words(verb: str, edit: str | None, rest: list[str]) -> str:
    return " ".join(filter(None, [PREFIX, verb, edit, *rest]))


_PARSERS: Mapping[Arguments, Callable[[Verb, str, list[str]], Command | Unknown]] = {
    Arguments.NONE: _parse_nothing,
    Arguments.PATCH: _parse_about,
    Arguments.PULLS: _parse_ok,
    Arguments.ALTERNATIVE: _parse_open,
    Arguments.GROUP_EDIT: _parse_group,
    Arguments.LOGINS: _parse_logins,
}
