"""The `/r4p` grammar: which commands a comment holds, who may give them, what help says (pure)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from rapidfuzz import fuzz, process

from app.policy.alternative_policy import alternative_id
from app.values.identifiers import AlternativeNumber, PullNumber
from app.values.markdown_prose import paragraph_lines
from app.values.permission import Permission
from model.domain import PatchId

PREFIX = "/r4p"
MAX_COMMANDS = 5
"""Commands of one comment that are run; a sixth is answered with this limit."""

_READ_LIMIT = 4_096  # characters: reading Markdown costs time a stranger could waste
_LINE_LIMIT = 500
_MAX_PULLS = 20
_PULL = re.compile(r"(?:GH-|#)([1-9][0-9]{0,8})", re.IGNORECASE | re.ASCII)

_ALTERNATIVE = re.compile(r"A([1-9][0-9]{0,2})", re.IGNORECASE | re.ASCII)


class Verb(StrEnum):
    """What can be asked for."""

    VERIFY = "verify"
    STATUS = "status"
    EXPLAIN = "explain"
    AGREE = "agree"
    DISAGREE = "disagree"
    GROUP = "group"
    PROPOSE = "propose"
    OPEN = "open"
    HELP = "help"


class Button(StrEnum):
    """The buttons of our check runs; GitHub shows them to those who may write."""

    VERIFY = "r4p-verify"
    AGREE = "r4p-agree"
    DISAGREE = "r4p-disagree"


class GroupEdit(StrEnum):
    """What `group` does."""

    SHOW = "show"
    ADD = "add"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class Entry:
    """What the help text and the documentation say of one verb."""

    usage: str
    description: str
    needs: Permission
    example: str
    where: str


_ANYWHERE = "issue or pull request"

REGISTRY: Mapping[Verb, Entry] = {
    Verb.VERIFY: Entry(
        usage="verify",
        description="Judge the open pull requests for this issue now.",
        needs=Permission.WRITE,
        example="/r4p verify",
        where=_ANYWHERE,
    ),
    Verb.STATUS: Entry(
        usage="status",
        description="Say which pull requests are compared and how far the work is.",
        needs=Permission.NONE,
        example="/r4p status",
        where=_ANYWHERE,
    ),
    Verb.EXPLAIN: Entry(
        usage="explain [#N|A1]",
        description="Give the reasons behind the verdict, of one patch or of all.",
        needs=Permission.NONE,
        example="/r4p explain #12",
        where=_ANYWHERE,
    ),
    Verb.AGREE: Entry(
        usage="agree [#N|A1]",
        description="Record that the verdict is right.",
        needs=Permission.WRITE,
        example="/r4p agree #12",
        where=_ANYWHERE,
    ),
    Verb.DISAGREE: Entry(
        usage="disagree [#N|A1] <why>",
        description="Record that the verdict is wrong, and why.",
        needs=Permission.WRITE,
        example="/r4p disagree #12 it breaks on an empty list",
        where=_ANYWHERE,
    ),
    Verb.GROUP: Entry(
        usage="group [add|remove #N …]",
        description="Show the pull requests that are compared, add some or leave some out.",
        needs=Permission.WRITE,
        example="/r4p group add #12 #15",
        where="issue",
    ),
    Verb.PROPOSE: Entry(
        usage="propose",
        description="Have an agent of the bot write a patch, to be judged beside the pull requests.",
        needs=Permission.WRITE,
        example="/r4p propose",
        where=_ANYWHERE,
    ),
    Verb.OPEN: Entry(
        usage="open A1",
        description="Open a patch of the bot as a draft pull request, where the settings allow it.",
        needs=Permission.WRITE,
        example="/r4p open A1",
        where=_ANYWHERE,
    ),
    Verb.HELP: Entry(
        usage="help",
        description="List these commands.",
        needs=Permission.NONE,
        example="/r4p help",
        where=_ANYWHERE,
    ),
}


@dataclass(frozen=True, slots=True)
class Command:
    """One command that can be carried out."""

    verb: Verb
    line: str
    """As it was written, cut to a sane length; untrusted text."""
    pulls: tuple[PullNumber, ...] = ()
    """The pull requests it names, in order; empty: none named."""
    edit: GroupEdit | None = None
    """For `group` only."""
    reason: str = ""
    """For `agree` and `disagree`; untrusted text."""
    alternative: AlternativeNumber | None = None
    """The patch of our own that it names, such as A1; None: none named."""

    @property
    def about(self) -> PatchId | None:
        """The patch that `explain`, `agree` or `disagree` names; None: all."""
        if self.alternative is not None:
            return alternative_id(self.alternative)
        return PatchId(f"#{self.pulls[0]}") if self.pulls else None


@dataclass(frozen=True, slots=True)
class Unknown:
    """A line that wanted to be a command."""

    line: str
    problem: str
    suggestion: str | None
    """The line as it should read; None when there is nothing near."""


WORDLESS = frozenset({Verb.VERIFY, Verb.AGREE, Verb.DISAGREE, Verb.OPEN})
"""Verbs that a reaction answers, when all is well."""


def may_command(body: str, mention: str | None = None) -> bool:
    """Whether any line of a comment begins like a command; the web process asks no more than this.

    True may be wrong, for a line of code or of a quote. False is never wrong.
    """
    return _line_start(mention).search(_read(body)) is not None


def parse(body: str, mention: str | None = None) -> tuple[Command | Unknown, ...]:
    """The commands of a new comment, in order.

    A command is the first word of a line of plain paragraph text; `mention` is the App's name,
    whose `@name` counts as `/r4p`. Only the first lines of a comment are read, up to 4,096
    characters. Parsing takes up to a tenth of a second: only a worker may do it, and outside a
    transaction.
    """
    if not may_command(body, mention):
        return ()
    start = _start(mention)
    found: list[Command | Unknown] = []
    for line in paragraph_lines(_read(body)):
        match = start.match(line)
        if match is None:
            continue
        written = line.strip()[:_LINE_LIMIT]
        if len(found) == MAX_COMMANDS:
            problem = f"one comment runs {MAX_COMMANDS} commands at most; this one was left out"
            found.append(Unknown(written, problem, None))
            break
        found.append(_command(written, (match["rest"] or "")[:_LINE_LIMIT].split()))
    return tuple(found)


def _read(body: str) -> str:
    """The part of a comment that is read: whole lines, so that no number loses its last digits."""
    if len(body) <= _READ_LIMIT:
        return body
    whole, newline, rest = body[:_READ_LIMIT].rpartition("\n")
    return whole if newline else rest


def allowed(verb: Verb, permission: Permission) -> bool:
    """Whether an account with this permission may give the command; being the author adds nothing."""
    return permission.rank >= REGISTRY[verb].needs.rank


def _names(mention: str | None) -> str:
    names = [re.escape(PREFIX)]
    if mention:
        names.append(rf"@{re.escape(mention)}(?:\[bot\])?")
    return "|".join(names)


def _start(mention: str | None) -> re.Pattern[str]:
    return re.compile(
        rf"\s*(?:{_names(mention)})(?:[:,]?\s+(?P<rest>.*)|\s*$)", re.IGNORECASE | re.DOTALL
    )


def _line_start(mention: str | None) -> re.Pattern[str]:
    # The blanks exclude line ends: with them, a text of empty lines would cost its length squared.
    return re.compile(rf"(?:\A|[\r\n])[^\S\r\n]*(?:{_names(mention)})", re.IGNORECASE)


def _command(line: str, words: list[str]) -> Command | Unknown:
    if not words:
        return Command(Verb.HELP, line)
    name = words[0].lower()
    if name not in set(Verb):
        return _unknown_verb(line, words)
    verb = Verb(name)
    match verb:
        case Verb.GROUP:
            return _group(line, words[1:])
        case Verb.EXPLAIN | Verb.AGREE | Verb.DISAGREE:
            return _about(verb, line, words[1:])
        case Verb.OPEN:
            return _open(line, words[1:])
        case _:
            return Command(verb, line)


def _group(line: str, words: list[str]) -> Command | Unknown:
    if not words:
        return Command(Verb.GROUP, line, edit=GroupEdit.SHOW)
    name, rest = words[0].lower(), words[1:]
    if name not in set(GroupEdit):
        near = _nearest(name, GroupEdit)
        suggestion = _line("group", near, rest) if near else None
        return Unknown(line, f"`group {words[0]}` is no command", suggestion)
    edit = GroupEdit(name)
    if edit is GroupEdit.SHOW:
        return Command(Verb.GROUP, line, edit=edit)
    pulls = tuple(dict.fromkeys(filter(None, map(_pull, rest))))
    if not rest or len(pulls) != len({word.strip(",") for word in rest}):
        numbered = [f"#{word.strip(',')}" for word in rest if word.strip(",").isdecimal()]
        suggestion = _line("group", edit, numbered) if numbered else None
        return Unknown(line, f"`group {edit}` needs pull requests written as #N", suggestion)
    if len(pulls) > _MAX_PULLS:
        return Unknown(line, f"`group {edit}` takes {_MAX_PULLS} pull requests at most", None)
    return Command(Verb.GROUP, line, pulls, edit=edit)


def _about(verb: Verb, line: str, words: list[str]) -> Command | Unknown:
    pull, ours = (_pull(words[0]), _alternative(words[0])) if words else (None, None)
    reason = " ".join(words[1:] if pull or ours else words)
    if verb is Verb.DISAGREE and not reason:
        return Unknown(line, "`disagree` needs a reason: it is what the bot learns from", None)
    pulls = () if pull is None else (pull,)
    said = "" if verb is Verb.EXPLAIN else reason
    return Command(verb, line, pulls, alternative=ours, reason=said)


def _open(line: str, words: list[str]) -> Command | Unknown:
    if len(words) != 1 or (ours := _alternative(words[0])) is None:
        return Unknown(line, "`open` needs one patch of the bot, written as A1", None)
    return Command(Verb.OPEN, line, alternative=ours)


def _alternative(word: str) -> AlternativeNumber | None:
    match = _ALTERNATIVE.fullmatch(word.strip(",:"))
    return AlternativeNumber(int(match[1])) if match else None


def _pull(word: str) -> PullNumber | None:
    match = _PULL.fullmatch(word.strip(","))
    return PullNumber(int(match[1])) if match else None


def _unknown_verb(line: str, words: list[str]) -> Unknown:
    near = _nearest(words[0].lower(), Verb)
    suggestion = _line(near, None, words[1:]) if near else None
    return Unknown(line, f"`{words[0]}` is no command", suggestion)


def _nearest(word: str, known: type[Verb] | type[GroupEdit]) -> str | None:
    best = process.extractOne(word, list(known), scorer=fuzz.ratio, score_cutoff=60)
    return str(best[0]) if best else None


def _line(verb: str, edit: str | None, rest: list[str]) -> str:
    return " ".join(filter(None, [PREFIX, verb, edit, *rest]))
