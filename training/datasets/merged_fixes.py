"""Read merged fixes that a model learns to imitate: one JSON object a line, `r4p.fix/1` (SWE-RL, section 2).

    {"format": "r4p.fix/1", "issue": "owner/repo#7", "title": "...", "body": "...",
     "files": {"a.py": "text before the fix"}, "merged": {"a.py": "text after the fix"}}

`files` are shown to the model, those that the fix leaves alone too. `merged` holds the files that the fix changes.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from model.agents.agentless.search_replace import escape_file
from model.domain import Issue
from model.prompts.prompt_template import Template
from model.prompts.special_tokens import SpecialTokens
from model.prompts.untrusted import escape_issue, escape_patch
from model.protocols import Message
from training.datasets import agent_tasks
from training.datasets.groups import TrainingGroup
from training.plans.plan import BadPlan

FORMAT = "r4p.fix/1"


@dataclass(frozen=True, slots=True)
class MergedFix:
    """An issue with the files to repair, and their texts after the merged fix."""

    issue: str
    """`owner/repo#number`, as in the groups of a dataset."""
    statement: Issue
    files: Mapping[str, str]
    """Texts before the fix of every file that is shown, by path."""
    merged: Mapping[str, str]
    """Texts after the fix of the files that it changes, by path."""

    @property
    def group(self) -> TrainingGroup:
        """The fix as a training group, for the round schedule."""
        return agent_tasks.build_issue_group(self.issue, self.statement)

    def render(self, template: Template, tokens: SpecialTokens) -> tuple[Message, ...]:
        """Return the prompt of the repair, exactly as Agentless Mini renders it for these files.

        `tokens` are the special tokens of the model's tokenizer.
        """
        escaped = template.add_delimiters(tokens)
        return template.render(
            issue=escape_issue(self.statement.text, escaped).text,
            hint="",
            paths=[escape_patch(path, escaped).text for path in self.files],
            files=[escape_file(text, escaped).removesuffix("\n") for text in self.files.values()],
            left_out="",
        )


def read_fixes(path: Path | None, held_out: Collection[str] = ()) -> list[MergedFix]:
    """Read merged fixes from a file, without fixes of the issues in `held_out`.

    Raises BadPlan for a `path` of None, an unreadable file or line, two fixes of one issue, and no fix at all.
    """
    return agent_tasks.read_issue_lines(path, held_out, _parse_fix, "fixes")


def _parse_fix(line: str, _folder: Path, where: str) -> MergedFix:
    try:
        document = json.loads(line)
        if document["format"] != FORMAT:
            raise BadPlan(f"{where} is {document['format']!r}, but this version reads {FORMAT}")
        issue = Issue(str(document["title"]), str(document["body"]))
        files, merged = (
            {str(path): str(text) for path, text in document[name].items()}
            for name in ("files", "merged")
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise (
            error if isinstance(error, BadPlan) else BadPlan(f"{where} is no fix: {error!r}")
        ) from error
    if unseen := merged.keys() - files.keys():
        raise BadPlan(f"{where}: `merged` has {min(unseen)}, which `files` lacks; add it there")
    if all(files[path] == text for path, text in merged.items()):
        raise BadPlan(f"{where}: `merged` changes no file; give the texts after the fix")
    return MergedFix(str(document["issue"]), issue, files, merged)
