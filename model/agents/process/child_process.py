"""The agent's process: it holds no secret and reaches one tree, one folder and a pipe to its parent.

Start it by `python -I -m model.agents.process.child_process PROCESSES`. It reads an `AgentTask` from stdin. It
writes engine questions, steps and attempts to stdout. It exits when the task is done or the parent is gone.
"""

import os
import sys
import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Final

from model.agents import agent_catalog, attempt_setup, parallel_attempts
from model.agents.process.messages import (
    AgentMessage,
    AgentTask,
    AttemptFinished,
    ProcessFailed,
    Ready,
    StepFinished,
    encode_message,
    parse_parent_message,
)
from model.agents.trajectories.trajectory import AttemptLimits
from model.engines.pipe_engine import PipeAnswer, PipeEngine, Question
from model.errors import ModelError
from model.prompts import prompt_template
from model.sandbox import limits
from model.sandbox.limits import ResourceLimits

_LIMITS: Final = ResourceLimits(memory_bytes=4 * 1024**3, file_bytes=512 * 1024**2)


def limit_resources(processes: int) -> None:
    """Limit memory, files, processes and system calls of this process and its children.

    `processes` is the most processes and threads together; 0 sets no such limit.
    """
    limits.set_limits(replace(_LIMITS, processes=processes))


class ParentPipe:
    """The pipe between an agent's process and its parent, in both directions. Threads may share it."""

    def __init__(self, incoming: IO[bytes], outgoing: IO[bytes]) -> None:
        self._incoming, self._outgoing = incoming, outgoing
        self._lock = threading.Lock()
        self._waiting: dict[int, SimpleQueue[PipeAnswer]] = {}

    def send(self, message: AgentMessage) -> None:
        """Send a message to the parent now."""
        raw = encode_message(message)
        with self._lock:
            self._outgoing.write(raw)
            self._outgoing.flush()

    def receive_task(self) -> AgentTask:
        """Wait for the agent's task, which is the parent's first message, and return it. Raises BadMessage.

        Then a thread starts to receive the parent's answers to questions. Another first message raises TypeError.
        """
        task = parse_parent_message(self._incoming.readline())
        if not isinstance(task, AgentTask):
            raise TypeError("the first message is not a task")
        threading.Thread(target=self._listen, daemon=True).start()
        return task

    def ask(self, question: Question) -> PipeAnswer:
        """Send a question about the engine to the parent and return its answer. There is no time limit."""
        answer: SimpleQueue[PipeAnswer] = SimpleQueue()
        self._waiting[question.id] = answer
        self.send(question)
        return answer.get()

    def _listen(self) -> None:
        """Hand each answer to the thread that waits for it. Exit when the parent closes the pipe."""
        try:
            for raw in self._incoming:
                answer = parse_parent_message(raw)
                if isinstance(answer, PipeAnswer):
                    self._waiting.pop(answer.id).put(answer)
        finally:
            os._exit(1)


def run_task(task: AgentTask, pipe: ParentPipe) -> None:
    """Run all attempts of an agent's task, and send each step and each finished attempt to the parent."""
    tempfile.tempdir = task.scratch
    attempt_limits = replace(AttemptLimits(), seconds=min(AttemptLimits().seconds, task.seconds))
    chosen = task.repair_prompt
    agent = agent_catalog.build_agent(
        task.agent,
        PipeEngine(task.engine, pipe.ask),
        attempt_limits,
        repair_prompt=(
            prompt_template.build(chosen.name, chosen.source.encode()) if chosen else None
        ),
    )
    with attempt_setup.open_tool_contexts(
        Path(task.tree), Path(task.scratch) / "index.sqlite"
    ) as context:
        parallel_attempts.run_attempts(
            agent,
            task.issue,
            context,
            seeds=task.seeds,
            guidance=task.guidance,
            callbacks=parallel_attempts.AttemptCallbacks(
                lambda index, step: pipe.send(StepFinished(index, step)),
                lambda _at, done: pipe.send(AttemptFinished(done.trajectory, done.seconds)),
            ),
        )


def main() -> None:
    """Limit this agent process, read its task from stdin, run the task and exit. Stray prints go to stderr."""
    limit_resources(int(sys.argv[1]))
    pipe = ParentPipe(os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb"))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    pipe.send(Ready())
    try:
        run_task(pipe.receive_task(), pipe)
    except (ModelError, OSError) as error:
        pipe.send(ProcessFailed(f"{type(error).__name__}: {error}"))
    os._exit(0)  # other attempts may still be waiting for an answer


if __name__ == "__main__":
    main()
