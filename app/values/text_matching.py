"""Match paths with globs, and suggest the nearest name for a misspelt one (pure).

In a glob `*` and `?` stay inside one folder, and `**` crosses folders. Repositories write these
globs, so matching must be fast for each. The regular expressions of pathspec can backtrack without end on many stars.
They also follow .gitignore, where a name without a slash means a folder's files too.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

_COMPARED: Final = 64


def is_match(path: str, glob: str) -> bool:
    """Return whether `glob` matches the whole path. A glob without a slash is compared with the file's name."""
    if "/" not in glob:
        return fnmatchcase(path.rpartition("/")[2], glob)
    return _is_match_by_folder(tuple(path.split("/")), tuple(glob.strip("/").split("/")))


@lru_cache(maxsize=4096)
def _is_match_by_folder(folders: tuple[str, ...], globs: tuple[str, ...]) -> bool:
    # `reached` holds how many folders the globs so far can match. One pass per glob keeps many `**` cheap.
    reached = {0}
    for glob in globs:
        if glob == "**":
            reached = set(range(min(reached, default=len(folders) + 1), len(folders) + 1))
        else:
            reached = {
                place + 1
                for place in reached
                if place < len(folders) and fnmatchcase(folders[place], glob)
            }
    return len(folders) in reached


def find_nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the entry of `names` most similar to the misspelt `name`; None if no similarity reaches .6.

    Only the first 64 characters of `name` count, because strangers write it.
    """
    # difflib and not rapidfuzz, which every process of the bot would load for this alone (4 MB)
    return next(iter(get_close_matches(name[:_COMPARED], list(names), n=1)), None)
