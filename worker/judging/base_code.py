"""Let a judge read code of the base from the handed-over tree, in a sandboxed process: what the rivals touch, or all of it.

A prompt may show the definitions that the rivals touch, and the verifier `rubric` writes a checklist from the code.
The process that judges holds the engine's key, so it opens no file of the tree itself. A verdict never waits for code:
where none can be read, the judge does without, and the verdict says why.
"""

import json
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from app.db.store.issues.evaluations import Evaluation
from app.sandbox import READ_CODE, TREE, build_command, explain_failure
from app.values.identifiers import EvaluationId
from model import typed_json
from model.agents.process.code_process import MOST_CHARACTERS, CodeTask, TouchedCode
from model.agents.tools.touched_code import select_fitting
from model.coverage import ShownCode
from model.domain import GroupVerdict, Patch
from model.protocols import Verifier
from model.sandbox.sandboxed_process import ProcessEnded, SandboxedProcess
from model.sandbox.walls import SCRATCH, NoSandbox
from model.verifiers.reports.rubric_source import RubricSource, TreeReaders
from worker.git.tree_store import TreeStore
from worker.judging.rubric_writer import RubricWriter
from worker.queue.context import Context

log = logging.getLogger(__name__)

NO_TREE: Final = "no source tree of the base was handed over"
SECONDS: Final = 120.0
"""Time limit of one reading. Django's tree takes a few seconds."""
_LINE_BYTES: Final = 12 * MOST_CHARACTERS + 65_536
"""Bytes of the longest answer: JSON writes a character in twelve bytes at most."""
_REASON: Final = 300


@dataclass(frozen=True, slots=True)
class CodeSource:
    """Where a judge gets code of the base, and how a verifier that reads it is built."""

    tree_store: TreeStore
    build: Callable[[TreeReaders], Verifier]
    shows_code: bool = True
    """Whether a prompt of the verifier shows the definitions that patches touch."""
    rubric_writer: RubricWriter | None = None
    """What writes checklists for the verifier `rubric`; None for other verifiers."""
    seconds: float = SECONDS

    def read(self, evaluation: EvaluationId, patches: Sequence[Patch]) -> TouchedCode:
        """Read the definitions that the patches of an evaluation touch, once for all its votes."""
        tree = self.tree_store.find(evaluation)
        if tree is None:
            return TouchedCode(missing=NO_TREE)
        touched = read_in_sandbox(tree, [patch.diff for patch in patches], self.seconds)
        if touched.missing:
            log.warning("no code of the base for evaluation %s: %s", evaluation, touched.missing)
        return touched

    def open_rubrics(self, context: Context, evaluation: Evaluation) -> RubricSource | None:
        """Return the source of the evaluation's checklist; None for a verifier without one."""
        if self.rubric_writer is None:
            return None
        tree = self.tree_store.find(evaluation.id)
        return self.rubric_writer.open_source(context, evaluation, tree)

    def discard(self, evaluation: EvaluationId) -> None:
        """Delete the source tree of a judged evaluation."""
        self.tree_store.discard(evaluation)


def read_in_sandbox(tree: Path, diffs: Sequence[str], seconds: float) -> TouchedCode:
    """Read the definitions of the source tree `tree` that `diffs` touch, in a sandboxed process without secrets.

    The result says why they are missing if there is no sandbox, or if the process fails or takes longer than `seconds`.
    """
    task = CodeTask(str(TREE), str(SCRATCH), tuple(diffs))
    name = "the process that reads the base"
    try:
        command = build_command(tree, READ_CODE)
        with SandboxedProcess(command, seconds, _LINE_BYTES, name=name) as process:
            process.send(json.dumps(asdict(task)).encode() + b"\n")
            raw = next(process.read_lines(), None)
            if raw is None:
                process.wait_for_exit()
                return TouchedCode(missing=explain_failure(process.read_last_error())[:_REASON])
        return _read_answer(raw)
    except (NoSandbox, ProcessEnded, OSError) as error:
        return TouchedCode(missing=str(error)[:_REASON])


def _read_answer(raw: bytes) -> TouchedCode:
    """Read what the process wrote. It has read a stranger's tree, so it is not trusted."""
    with suppress(ValueError, TypeError, RecursionError):
        answer = typed_json.read(TouchedCode, json.loads(raw))
        fitting = select_fitting(answer.definitions, MOST_CHARACTERS)
        return TouchedCode(fitting, answer.missing and answer.missing[:_REASON])
    return TouchedCode(missing="the process that reads the base sent an invalid answer")


class CodeView:
    """A verifier that reads the code of the base where it could be read, and a record of what its prompts showed."""

    def __init__(
        self,
        without: Verifier,
        source: CodeSource | None,
        touched: TouchedCode | None,
        rubrics: RubricSource | None,
    ) -> None:
        self._touched = touched
        self._shown = 0
        can_show = touched is not None and touched.missing is None
        readers = TreeReaders(rubrics, code=self._select if can_show else None)
        self.verifier = source.build(readers) if source and (can_show or rubrics) else without

    def add_record(self, verdict: GroupVerdict) -> GroupVerdict:
        """Return the verdict with the code that its prompts showed; unchanged where the prompt shows none."""
        if self._touched is None:
            return verdict
        return replace(verdict, code=ShownCode(self._shown, self._touched.missing))

    def _select(self, _diffs: Sequence[str], characters: int) -> str:
        definitions = self._touched.definitions if self._touched else ()
        fitting = select_fitting(definitions, characters)
        self._shown = len(fitting)
        return "\n\n".join(fitting)


def open_code(
    without: Verifier,
    source: CodeSource | None,
    context: Context,
    evaluation: Evaluation,
    patches: Sequence[Patch],
) -> CodeView:
    """Read the code that the patches touch, and return the verifier that reads the base; `without` where none does."""
    touched = source.read(evaluation.id, patches) if source and source.shows_code else None
    rubrics = source.open_rubrics(context, evaluation) if source else None
    return CodeView(without, source, touched, rubrics)
