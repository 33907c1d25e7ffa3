"""Which paths may name a file of a tree at all, before anything is looked up on disk (pure).

The rules are those of every filesystem at once: a patch may be applied on another machine than ours, and there
`.GIT`, `git~1` or `.git.` may be git's own directory (CVE-2014-9390 and its kin).
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final

from model.errors import PathRefused

MOST_BYTES: Final = 1_024
"""Of a whole path; more nesting than any project has."""
_MOST_NAME_BYTES: Final = 255
"""What filesystems allow for one name."""
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode's controls, format characters, lone surrogates, line and paragraph separators."""
_SHORT_NAME: Final = re.compile(r"git~\d+")
_AUTOMATION: Final = frozenset(
    [
        ".github",
        ".gitlab",
        ".gitea",
        ".forgejo",
        ".circleci",
        ".buildkite",
        ".semaphore",
        ".woodpecker",
        ".tekton",
        ".zuul.d",
        "zuul.d",
        ".vscode",
        ".husky",
        ".devcontainer",
    ]
)
"""Folders at the root: workflows, actions, hooks, tasks, our own settings."""
_STEERING: Final = frozenset(
    [".gitmodules", ".gitattributes", "codeowners", "jenkinsfile", ".envrc"]
)
"""Files, wherever they are."""
_STEERING_STEMS: Final = frozenset(
    [
        ".gitlab-ci",
        ".travis",
        ".drone",
        ".woodpecker",
        ".appveyor",
        "appveyor",
        "azure-pipelines",
        "bitbucket-pipelines",
        ".cirrus",
        ".pre-commit-config",
        ".pre-commit-hooks",
        ".readthedocs",
        ".zuul",
        "zuul",
        "buildspec",
        "cloudbuild",
    ]
)
"""What is before the last dot of others, with one of these behind it."""
_SETTINGS: Final = frozenset(["yml", "yaml", "json", "jsonnet", "toml", "star"])
_DRIVE: Final = re.compile(r"[A-Za-z]:")


def checked(path: str) -> str:
    """The path without a leading `./`. Raises PathRefused with what is wrong and how to write it."""
    plain = path.removeprefix("./")
    if reason := refusal(plain):
        raise PathRefused(f"path {shown(path)} is refused: {reason}")
    return plain


def refusal(path: str) -> str | None:
    """Why this path may name no file of a tree; None: it may."""
    if not path:
        return "it is empty; name a file, as in `package/module.py`"
    if path.startswith("/") or _DRIVE.match(path):
        return (
            "it is absolute; write it relative to the root of the tree, as in `package/module.py`"
        )
    if "\\" in path:
        return "it holds a backslash; separate folders by `/`"
    if len(path.encode(errors="surrogatepass")) > MOST_BYTES:
        return f"it is longer than {MOST_BYTES} bytes"
    return next(filter(None, map(name_refusal, path.split("/"))), None)


def write_refusal(path: str) -> str | None:
    """Why nobody who was not asked to may change this file of a tree, whose path was checked; None: it may be changed.

    What runs with a repository's secrets, decides whose code comes along, who reviews, or what we do.
    """
    first, *_ = names = [_plain(name) for name in path.split("/")]
    stem, _, kind = names[-1].rpartition(".")
    steers = names[-1] in _STEERING or (stem in _STEERING_STEMS and kind in _SETTINGS)
    if first in _AUTOMATION or steers:
        return "it says what runs with the repository's secrets or who reviews, which no fix may change; mend the code"
    return None


@lru_cache(maxsize=65_536)
def name_refusal(name: str) -> str | None:
    """Why this may be no name between two slashes; None: it may."""
    if not name.strip(". "):
        return (
            "it holds `..`, `.` or an empty part; name the file itself, from the root of the tree"
        )
    if not name.isprintable() and any(unicodedata.category(one) in _UNSEEN for one in name):
        return "it holds a character that can't be seen or is no text"
    if len(name.encode()) > _MOST_NAME_BYTES:
        return f"a name in it is longer than {_MOST_NAME_BYTES} bytes"
    if _is_gits_own(name):
        return "it leads into git's own directory, or does so on some machine"
    return None


def shown(path: str) -> str:
    """A path for a message: quoted, escaped and not too long."""
    quoted = ascii(path) if not path.isprintable() else repr(path)
    return quoted if len(quoted) <= 120 else f"{quoted[:119]}…"


def _is_gits_own(name: str) -> bool:
    """Whether a filesystem may take this name for `.git`, by its short name too (`GIT~1`)."""
    plain = _plain(name)
    return plain == ".git" or _SHORT_NAME.fullmatch(plain) is not None


def _plain(name: str) -> str:
    """What the most forgiving filesystem takes a name for.

    Some fold case and width, Windows drops dots and spaces at the end, and what follows a colon is a stream of the same
    file.
    """
    folded = unicodedata.normalize("NFKC", name).upper().casefold()
    seen = "".join(one for one in folded if unicodedata.category(one) not in {"Cf", "Mn"})
    return seen.partition(":")[0].lstrip(" ").rstrip(" .")
