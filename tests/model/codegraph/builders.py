"""Small source trees, and what is asked of them."""

import subprocess
from contextlib import contextmanager

from model.codegraph.definition_reader import read_definitions
from model.codegraph.index import open_index
from model.codegraph.source_tree import hash_blob, survey


def written(root, files):
    """A directory with files; text or bytes."""
    for path, content in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def tree(files):
    """What an index takes, from contents in memory, and the list of paths it read."""
    contents = {path: text.encode() for path, text in files.items()}
    seen = []

    def load(path):
        seen.append(path)
        return contents[path]

    return {path: hash_blob(content) for path, content in contents.items()}, load, seen


@contextmanager
def indexed(directory, database):
    """The snapshot and the report of a directory."""
    with open_index(database) as index:
        found = survey(directory)
        snapshot, report = index.build_snapshot(found.blobs, found.read)
        yield snapshot, report, found


def definitions(language, text):
    """Construct, dotted name, first and last line of what is found in a text."""
    rows = read_definitions(language, text.encode()).rows
    return [
        (row.construct, f"{row.scope}.{row.name}".lstrip("."), row.start_line, row.end_line)
        for row in rows
    ]


def git(directory, *arguments):
    """What git prints, with a person to commit as."""
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    done = subprocess.run(
        ["git", *who, "-C", directory, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def committed(directory):
    """Everything in a directory as a commit."""
    if not (directory / ".git").exists():
        git(directory, "init", "-q")
    git(directory, "add", "-A")
    git(directory, "commit", "-qm", "all", "--allow-empty")
