"""A reply's edits carried out on a workspace: the diff they make, or why they make none. The workspace stays as it was."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from model.agents.agentless.prompt_sampling import dropped
from model.agents.agentless.search_replace import Flaw, apply, parse
from model.agents.tools import carriage_return, indentation
from model.codegraph import syntax_check
from model.errors import MalformedEdit, WorkspaceError
from model.workspace import Workspace


class Repairs:
    """Of one attempt. Equal results are diffed once."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._diffs: dict[tuple[tuple[str, str], ...], str] = {}

    def read(self, reply: str, files: Mapping[str, str]) -> tuple[str | None, dict[str, Any]]:
        """The diff of all edits in a reply to files as they were shown, and what was read, or why it is dropped."""
        try:
            edits = parse(reply)
            after = apply(edits, files)
            for path, text in after.items():
                _require_whole(path, _raw(files[path]), _raw(text))
            diff = self._diff(after)
        except MalformedEdit as error:
            return None, dropped(error.kind, str(error))
        except WorkspaceError as error:
            return None, dropped("workspace", str(error))
        return diff, {"edits": [asdict(edit) for edit in edits], "diff": diff}

    def _diff(self, after: Mapping[str, str]) -> str:
        """Raises MalformedEdit where git sees no change, WorkspaceError for what may not be written."""
        key = tuple(sorted(after.items()))
        if key not in self._diffs:
            self._diffs[key] = self._diffed({path: _raw(text) for path, text in key})
        if not self._diffs[key]:
            raise MalformedEdit(Flaw.NO_CHANGE, "git sees no change in the edited files")
        return self._diffs[key]

    def _diffed(self, contents: Mapping[str, bytes]) -> str:
        before = {path: self._workspace.read(path) for path in contents}
        try:
            for path, content in contents.items():
                self._workspace.write(path, content)
            return self._workspace.diff()
        finally:
            for path, content in before.items():
                self._workspace.write(path, content)


def _require_whole(path: str, before: bytes, after: bytes) -> None:
    """Raises MalformedEdit where the edit breaks the file in its language, or hides lines of it."""
    if message := syntax_check.check(path, before, after) or indentation.complaint(
        path, before, after
    ):
        raise MalformedEdit("syntax", message)
    if message := carriage_return.complaint(path, before, after):
        raise MalformedEdit("line_end", message)


def _raw(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
