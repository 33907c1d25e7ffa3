"""An agent's process: it holds no secret, and has one tree, one folder and a pipe to who started it.

`python -I -m model.agents.process.child_process PROCESSES`: a `Task` comes in, questions to the engine and what came about go out. It
ends when its work is done or the other side is gone.
"""

import os
import resource
import sys
import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Final

from model.agents import agent_catalog, attempt_setup, parallel_attempts
from model.agents.process import seccomp_filter
from model.agents.process.messages import (
    Failed,
    Finished,
    FromAgent,
    Ready,
    Stepped,
    Task,
    line,
    to_agent,
)
from model.agents.trajectories.trajectory import Limits
from model.engines.pipe_engine import Answer, Piped, Question
from model.errors import ModelError

MEMORY: Final = 4 * 1024**3
"""Bytes of addresses for each process here; of that a thread takes some 70 MB without using them."""
FILE: Final = 512 * 1024**2
"""Bytes of one file; what all files together take is the sandbox's to limit."""
_FILES: Final = 256


def bound(processes: int) -> None:
    """Take what is too much from this process and all it starts; `processes`, threads among them: 0 leaves them be."""
    limits = {
        resource.RLIMIT_AS: MEMORY,
        resource.RLIMIT_FSIZE: FILE,
        resource.RLIMIT_NOFILE: _FILES,
        resource.RLIMIT_CORE: 0,
    } | ({resource.RLIMIT_NPROC: processes} if processes else {})
    for which, most in limits.items():
        hard = resource.getrlimit(which)[1]
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (least, least))
    seccomp_filter.forbid()


class Pipe:
    """Both directions to the parent. Threads may share it."""

    def __init__(self, heard: IO[bytes], said: IO[bytes]) -> None:
        self._heard, self._said = heard, said
        self._lock = threading.Lock()
        self._waiting: dict[int, SimpleQueue[Answer]] = {}

    def tell(self, message: FromAgent) -> None:
        """Say it now."""
        raw = line(message)
        with self._lock:
            self._said.write(raw)
            self._said.flush()

    def task(self) -> Task:
        """What to do; from then on answers are awaited. Raises BadMessage."""
        task = to_agent(self._heard.readline())
        if not isinstance(task, Task):
            raise TypeError("the first message is no task")
        threading.Thread(target=self._listen, daemon=True).start()
        return task

    def ask(self, question: Question) -> Answer:
        """Its answer, however long that takes."""
        answer: SimpleQueue[Answer] = SimpleQueue()
        self._waiting[question.id] = answer
        self.tell(question)
        return answer.get()

    def _listen(self) -> None:
        """Hand answers to who waits; nobody is left to work for when the parent is gone."""
        try:
            for raw in self._heard:
                answer = to_agent(raw)
                if isinstance(answer, Answer):
                    self._waiting.pop(answer.id).put(answer)
        finally:
            os._exit(1)


def work(task: Task, pipe: Pipe) -> None:
    """All attempts, each told step by step."""
    tempfile.tempdir = task.scratch
    limits = replace(Limits(), seconds=min(Limits().seconds, task.seconds))
    agent = agent_catalog.agent(task.agent, Piped(task.engine, pipe.ask), limits)
    with attempt_setup.opened(Path(task.tree), Path(task.scratch) / "index.sqlite") as desk:
        parallel_attempts.attempted(
            agent,
            task.issue,
            desk,
            seeds=task.seeds,
            guidance=task.guidance,
            watch=parallel_attempts.Watch(
                lambda at, step: pipe.tell(Stepped(at, step)),
                lambda _at, done: pipe.tell(Finished(done.trajectory, done.seconds)),
            ),
        )


def main() -> None:
    """Do what the other side of standard input and output asks for; whoever prints, prints to standard error."""
    bound(int(sys.argv[1]))
    pipe = Pipe(os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb"))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    pipe.tell(Ready())
    try:
        work(pipe.task(), pipe)
    except (ModelError, OSError) as error:
        pipe.tell(Failed(f"{type(error).__name__}: {error}"))
    os._exit(0)  # other attempts may still be waiting for an answer


if __name__ == "__main__":
    main()
