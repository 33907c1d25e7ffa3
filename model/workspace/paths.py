"""Decide which paths may name a file of a tree, without a look at the disk (pure).

The rules combine those of all file systems: a patch may be applied on another machine. There `.GIT`, `git~1` or
`.git.` may be git's own directory (CVE-2014-9390 and similar).
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final

from model.errors import PathRefused

MOST_BYTES: Final = 1_024
"""Bytes of a whole path; no project nests deeper."""
_MOST_NAME_BYTES: Final = 255
"""Bytes of one name, the limit of common file systems."""
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories of controls, format characters, lone surrogates, line and paragraph separators."""
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
        ".teamcity",
        ".mergify",
    ]
)
"""Root folders of workflows, actions and this bot's settings."""
_TOOL_FOLDERS: Final = frozenset(
    [
        *(".vscode", ".idea", ".devcontainer", ".husky", ".cargo", ".mvn", ".yarn"),
        *(".claude", ".cursor", ".gemini", ".codex", ".windsurf", ".clinerules", ".opencode"),
        *(".roo", ".kiro", ".continue", ".amazonq", ".junie", ".augment", ".zed", ".lefthook"),
    ]
)
"""Folders of editors, package managers and coding agents. These tools read them in any folder and run what they name."""
_STEERING: Final = frozenset(
    [
        *(".gitmodules", ".gitattributes", ".envrc", "codeowners", "owners", "owners_aliases"),
        *(".npmrc", ".yarnrc", ".pypirc", "pip.conf", "pip.ini", ".bazelrc", ".renovaterc"),
        *("agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md"),
        *(".cursorrules", ".windsurfrules", ".clinerules", ".roorules", ".rules", ".roomodes"),
        *("nuget.config", ".pnpmfile.cjs", ".gemrc", ".condarc"),
    ]
)
"""Files that control automation, reviewers, the sources of packages or coding agents, in any folder."""
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
        ".vsts-ci",
        "wercker",
        *(".mergify", "bors", ".kodiak", "renovate", ".renovaterc", "dependabot"),
        *(".yarnrc", ".mcp", "mcp", ".devcontainer", ".aider.conf", "opencode"),
        *("uv", "bunfig", "lefthook", ".lefthook", "lefthook-local", ".lefthook-local"),
    ]
)
"""Stems of such files; the suffix is in _SETTINGS."""
_SETTINGS: Final = frozenset(["yml", "yaml", "json", "json5", "jsonc", "jsonnet", "toml", "star"])
_DRIVE: Final = re.compile(r"[A-Za-z]:")


def check_path(path: str) -> str:
    """Check that a path may name a file of a tree, and return it without a leading `./`.

    Raises PathRefused, whose message has the reason and the fix.
    """
    plain = path.removeprefix("./")
    if reason := explain_refusal(plain):
        raise PathRefused(f"path {quote_path(path)} is refused: {reason}")
    return plain


def explain_refusal(path: str) -> str | None:
    """Return why this path may not name a file of a tree; None when it may."""
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
    return next(filter(None, map(explain_name_refusal, path.split("/"))), None)


def explain_write_refusal(path: str) -> str | None:
    """Return why an agent may not change this file; None when it may. Call it after `check_path`.

    Refused are files that run with a repository's secrets, select dependencies' sources or reviewers, or configure
    the bot, editors or other agents.
    """
    names = [_fold_name(name) for name in path.split("/")]
    in_folder = names[0] in _AUTOMATION or not _TOOL_FOLDERS.isdisjoint(names)
    if in_folder or _is_steering_file(names[-1]):
        return "it controls automation, secrets or reviewers, which a fix may not change; change the code instead"
    return None


def _is_steering_file(name: str) -> bool:
    """Return whether tools obey a file with this folded name, in any folder."""
    stem, _, kind = name.rpartition(".")
    is_settings = stem in _STEERING_STEMS and kind in _SETTINGS
    return is_settings or name in _STEERING or "jenkinsfile" in {name, stem, kind}


@lru_cache(maxsize=65_536)
def explain_name_refusal(name: str) -> str | None:
    """Return why `name`, the part of a path between two slashes, is refused; None when it is allowed."""
    if not name.strip(". "):
        return (
            "it holds `..`, `.` or an empty part; name the file itself, from the root of the tree"
        )
    if not name.isprintable() and any(unicodedata.category(letter) in _UNSEEN for letter in name):
        return "it holds a character that can't be seen or is no text"
    if len(name.encode()) > _MOST_NAME_BYTES:
        return f"a name in it is longer than {_MOST_NAME_BYTES} bytes"
    if _is_git_directory(name):
        return "it leads into git's own directory, or does so on some machine"
    return None


def quote_path(path: str) -> str:
    """Return a path for a message: quoted, escaped and cut to about 120 characters."""
    quoted = ascii(path) if not path.isprintable() else repr(path)
    return quoted if len(quoted) <= 120 else f"{quoted[:119]}…"


def _is_git_directory(name: str) -> bool:
    """Return whether some file system takes this name for `.git`, also by its short name `GIT~1`."""
    plain = _fold_name(name)
    return plain == ".git" or _SHORT_NAME.fullmatch(plain) is not None


def _fold_name(name: str) -> str:
    """Return the name as the most lenient file system reads it.

    Some file systems fold case and width. Windows drops trailing dots and spaces, and text after a colon names a
    stream of the same file.
    """
    folded = unicodedata.normalize("NFKC", name).upper().casefold()
    seen = "".join(letter for letter in folded if unicodedata.category(letter) not in {"Cf", "Mn"})
    return seen.partition(":")[0].lstrip(" ").rstrip(" .")
