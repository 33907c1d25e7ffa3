"""Turn a reply's edits into a diff, and restore the workspace afterwards."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from model.agents.agentless.prompt_sampling import describe_drop
from model.agents.agentless.search_replace import EditError, SearchReplaceEdit, apply
from model.agents.tools import edit_checks
from model.codegraph import syntax_check
from model.errors import MalformedEdit, WorkspaceError
from model.workspace import Workspace


class RepairCache:
    """Cache of the diffs of one attempt: replies that write equal file contents cost one `git diff`.

    `parse` reads the edits of a reply. It raises MalformedEdit.
    """

    def __init__(
        self, workspace: Workspace, parse: Callable[[str], tuple[SearchReplaceEdit, ...]]
    ) -> None:
        self._workspace = workspace
        self._parse = parse
        self._diffs: dict[tuple[tuple[str, str], ...], str] = {}

    def apply_reply(
        self, reply: str, files: Mapping[str, str]
    ) -> tuple[str | None, dict[str, Any]]:
        """Return (diff, outcome) for the SEARCH/REPLACE edits of a reply. The workspace ends unchanged.

        The diff is None when the edits cannot be used. The outcome is the JSON object to record: the edits and the
        diff, or why there is none. `files` maps each path that the prompt showed to its text.
        """
        try:
            edits = self._parse(reply)
            after = apply(edits, files)
            for path, text in after.items():
                _check_file(path, _encode(files[path]), _encode(text))
            diff = self._diff(after)
        except MalformedEdit as error:
            return None, describe_drop(error.kind, str(error))
        except WorkspaceError as error:
            return None, describe_drop("workspace", str(error))
        return diff, {"edits": [asdict(edit) for edit in edits], "diff": diff}

    def _diff(self, after: Mapping[str, str]) -> str:
        """Diff the edited files. Raises MalformedEdit without a change, WorkspaceError for a protected file."""
        key = tuple(sorted(after.items()))
        if key not in self._diffs:
            self._diffs[key] = self._write_and_diff({path: _encode(text) for path, text in key})
        if not self._diffs[key]:
            raise MalformedEdit(EditError.NO_CHANGE, "git sees no change in the edited files")
        return self._diffs[key]

    def _write_and_diff(self, contents: Mapping[str, bytes]) -> str:
        before = {path: self._workspace.read(path) for path in contents}
        try:
            for path, content in contents.items():
                self._workspace.write(path, content)
            return self._workspace.diff()
        finally:
            for path, content in before.items():
                self._workspace.write(path, content)


def _check_file(path: str, before: bytes, after: bytes) -> None:
    """Raise MalformedEdit when the edit breaks the file's syntax or hides lines from a diff."""
    if message := syntax_check.check_syntax(path, before, after) or edit_checks.check_indentation(
        path, before, after
    ):
        raise MalformedEdit("syntax", message)
    if message := edit_checks.check_carriage_returns(path, before, after):
        raise MalformedEdit("line_end", message)


def _encode(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
