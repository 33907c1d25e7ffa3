"""Small source trees, their definitions and their commits."""

import subprocess
from contextlib import contextmanager

from model.codegraph.definition_reader import read_definitions
from model.codegraph.index import open_index
from model.codegraph.source_tree import hash_blob, survey


def write_files(root, files):
    """Write files with text or bytes, by path, and return their directory."""
    for path, content in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def build_tree(files):
    """Return blobs and a reader of contents in memory, as an index takes them, and the list of paths read."""
    contents = {path: text.encode() for path, text in files.items()}
    seen = []

    def load(path):
        seen.append(path)
        return contents[path]

    return {path: hash_blob(content) for path, content in contents.items()}, load, seen


@contextmanager
def index_directory(directory, database):
    """Yield the snapshot of a directory, the index's report and the surveyed tree."""
    with open_index(database) as index:
        surveyed = survey(directory)
        snapshot, report = index.build_snapshot(surveyed.blobs, surveyed.read)
        yield snapshot, report, surveyed


def list_definitions(language, text):
    """List construct, dotted name, first and last line of each definition in a text."""
    rows = read_definitions(language, text.encode()).rows
    return [
        (row.construct, f"{row.scope}.{row.name}".lstrip("."), row.start_line, row.end_line)
        for row in rows
    ]


def run_git(directory, *arguments):
    """Run git with an author and return what it prints."""
    author = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    done = subprocess.run(
        ["git", *author, "-C", directory, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def commit_all(directory):
    """Commit everything in a directory."""
    if not (directory / ".git").exists():
        run_git(directory, "init", "-q")
    run_git(directory, "add", "-A")
    run_git(directory, "commit", "-qm", "all", "--allow-empty")
