"""The registry of `/r4p` commands: one entry each for the parser, the help, the documentation and the command line (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from app.values.permission import Permission

PREFIX = "/r4p"


class Verb(StrEnum):
    """The `/r4p` commands of the bot, by the word after `/r4p`."""

    VERIFY = "verify"
    STATUS = "status"
    EXPLAIN = "explain"
    AGREE = "agree"
    DISAGREE = "disagree"
    GROUP = "group"
    CANCEL = "cancel"
    PAUSE = "pause"
    RESUME = "resume"
    PROPOSE = "propose"
    OPEN = "open"
    OK = "ok"
    DELEGATE = "delegate"
    CONFIG = "config"
    HELP = "help"


class Arguments(StrEnum):
    """Words that a command takes. The parser has one function for each kind."""

    NONE = "none"
    PATCH = "patch"
    """A pull request or an alternative, then free words."""
    PULLS = "pulls"
    ALTERNATIVE = "alternative"
    GROUP_EDIT = "group_edit"
    LOGINS = "logins"


@dataclass(frozen=True, slots=True)
class CommandHelp:
    """One `/r4p` command: its help text, its words, and who may use it."""

    usage: str
    description: str
    example: str
    needs: Permission = Permission.WRITE
    where: str = "issue or pull request"
    takes: Arguments = Arguments.NONE
    is_wordless: bool = False
    """True if the bot reacts with an emoji only, when all is well."""
    is_delegable: bool = False
    """True if `/r4p delegate` lets a person without the needed permission use it on one issue."""


REGISTRY: Mapping[Verb, CommandHelp] = {
    Verb.VERIFY: CommandHelp(
        usage="verify",
        description="Judge the open pull requests for this issue now. A second `verify` adds votes.",
        example="/r4p verify",
        is_wordless=True,
        is_delegable=True,
    ),
    Verb.STATUS: CommandHelp(
        usage="status",
        description="Show which pull requests the bot compares and how far the work is.",
        example="/r4p status",
        needs=Permission.NONE,
    ),
    Verb.EXPLAIN: CommandHelp(
        usage="explain [#N|A1]",
        description="Show the reasons for the verdict, for one patch or for all.",
        example="/r4p explain #12",
        needs=Permission.NONE,
        takes=Arguments.PATCH,
    ),
    Verb.AGREE: CommandHelp(
        usage="agree [#N|A1]",
        description="Record that the verdict is right.",
        example="/r4p agree #12",
        takes=Arguments.PATCH,
        is_wordless=True,
    ),
    Verb.DISAGREE: CommandHelp(
        usage="disagree [#N|A1] <why>",
        description="Record that the verdict is wrong, and why.",
        example="/r4p disagree #12 it breaks on an empty list",
        takes=Arguments.PATCH,
        is_wordless=True,
    ),
    Verb.GROUP: CommandHelp(
        usage="group [add|remove #N …]",
        description="Show, add or remove the pull requests that the bot compares.",
        example="/r4p group add #12 #15",
        where="issue",
        takes=Arguments.GROUP_EDIT,
        is_delegable=True,
    ),
    Verb.CANCEL: CommandHelp(
        usage="cancel",
        description="Stop the evaluation that waits or runs. Later changes start a new one.",
        example="/r4p cancel",
        is_delegable=True,
    ),
    Verb.PAUSE: CommandHelp(
        usage="pause",
        description="Judge this issue on command only, until `resume`.",
        example="/r4p pause",
        is_wordless=True,
        is_delegable=True,
    ),
    Verb.RESUME: CommandHelp(
        usage="resume",
        description="End `pause`, and look at the issue again.",
        example="/r4p resume",
        is_wordless=True,
        is_delegable=True,
    ),
    Verb.PROPOSE: CommandHelp(
        usage="propose",
        description="Let an agent of the bot write a patch and judge it beside the pull requests.",
        example="/r4p propose",
        is_delegable=True,
    ),
    Verb.OPEN: CommandHelp(
        usage="open A1",
        description="Open a patch of the bot as a draft pull request, if the settings allow it.",
        example="/r4p open A1",
        takes=Arguments.ALTERNATIVE,
        is_wordless=True,
    ),
    Verb.OK: CommandHelp(
        usage="ok [#N …]",
        description="Let the bot judge a pull request that the settings leave out until somebody approves it.",
        example="/r4p ok #12",
        needs=Permission.TRIAGE,
        takes=Arguments.PULLS,
        is_wordless=True,
    ),
    Verb.DELEGATE: CommandHelp(
        usage="delegate [remove] LOGIN …",
        description="Let people use `verify`, `group`, `cancel`, `pause`, `resume` and `propose` on this issue.",
        example="/r4p delegate mona",
        where="issue",
        takes=Arguments.LOGINS,
    ),
    Verb.CONFIG: CommandHelp(
        usage="config",
        description="Show the settings in use, and where each one comes from.",
        example="/r4p config",
        needs=Permission.NONE,
    ),
    Verb.HELP: CommandHelp(
        usage="help",
        description="List these commands.",
        example="/r4p help",
        needs=Permission.NONE,
    ),
}

WORDLESS = frozenset(verb for verb, entry in REGISTRY.items() if entry.is_wordless)
"""Verbs to which the bot reacts with an emoji only, if all is well."""


def is_allowed(verb: Verb, permission: Permission, *, is_delegate: bool = False) -> bool:
    """Report whether an account with this permission may give the command `verb`. Authors get no extra right.

    `is_delegate`: somebody with the right let the account use delegable commands on the issue.
    """
    entry = REGISTRY[verb]
    return permission.rank >= entry.needs.rank or (is_delegate and entry.is_delegable)


def write_command_rows() -> tuple[tuple[str, str, str, str], ...]:
    """Return usage, description, access and place of each command, for every page and table that lists them."""
    return tuple(
        (f"{PREFIX} {entry.usage}", entry.description, describe_access(entry.needs), entry.where)
        for entry in REGISTRY.values()
    )


def describe_access(needs: Permission) -> str:
    """Return who may use a command that needs a permission, such as `write access`."""
    return "anyone" if needs is Permission.NONE else f"{needs} access"
