"""Which paths a glob means: `*` and `?` stay inside one folder, `**` crosses folders (pure).

Globs come from repositories, so none may take long. pathspec's regular expressions backtrack without end on a glob of many
stars, and its rules are those of .gitignore: a name without a slash would mean a folder's files too.
"""

from fnmatch import fnmatchcase
from functools import lru_cache


def matches(path: str, glob: str) -> bool:
    """Whether the whole path is meant. A glob without a slash looks at the file's name alone."""
    if "/" not in glob:
        return fnmatchcase(path.rpartition("/")[2], glob)
    return _matches(tuple(path.split("/")), tuple(glob.strip("/").split("/")))


@lru_cache(maxsize=4096)
def _matches(folders: tuple[str, ...], globs: tuple[str, ...]) -> bool:
    # Row by row over the glob, so that many `**` cost no more than the path is long.
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
