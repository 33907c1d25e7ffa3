"""Write the tasks of a gym as Harbor tasks: a folder each with `task.toml`, `instruction.md` and three more folders.

The format is that of harborframework.com/docs/tasks. The reward is 1 if every fail-to-pass and pass-to-pass test passes.
Harbor runs the tests in a container, where a hostile patch can forge the reward; `r4p` itself does not use this export.
"""

import json
import shutil
from pathlib import Path
from typing import Final

from model.environments.recipe import EnvironmentRecipe
from model.errors import BadGym, BadSuiteCommand
from model.execution.suite_command import Runner, parse_command
from model.gyms.gym_folder import Gym, TaskTrees, open_trees
from model.gyms.gym_task import GymTask
from training.gym import harbor_grade

_SETTINGS: Final = """\
version = "1.0"

[metadata]
author_name = {repository}
difficulty = "medium"
category = "programming"
tags = ["python", "r4p-gym"]
licence = {licence}
base_commit = {base_commit}

[verifier]
timeout_sec = 600.0

[agent]
timeout_sec = 1800.0

[environment]
build_timeout_sec = 600.0
cpus = 1
memory_mb = 4096
storage_mb = 10240
allow_internet = false
"""
_DOCKERFILE: Final = """\
FROM python:{python}-slim
RUN apt-get update && apt-get install -y --no-install-recommends git && rm -rf /var/lib/apt/lists/*
COPY requirements.txt /requirements.txt
RUN pip install --no-cache-dir -r /requirements.txt
COPY tree /workspace
WORKDIR /workspace
RUN git init -q && git add -A && git -c user.name=r4p -c user.email=r4p@localhost commit -q -m base
"""
_TEST: Final = """\
#!/bin/sh
mkdir -p /logs/verifier
echo 0 > /logs/verifier/reward.txt
cd /workspace || exit 1
git checkout -q HEAD -- {tests} 2>/dev/null
[ ! -s /tests/test.patch ] || git apply --whitespace=nowarn /tests/test.patch || exit 1
python /tests/grade.py /tests/expected.json /logs/verifier/reward.txt
"""
_SOLUTION: Final = """\
#!/bin/sh
cd /workspace && git apply --whitespace=nowarn "$(dirname "$0")/solution.patch"
"""


def export_harbor(gym: Gym, folder: Path) -> int:
    """Write every task of a gym into the new folder `folder` and return their number.

    Raises BadGym, also for a task whose tests pytest does not run.
    """
    if folder.exists():
        raise BadGym(f"{folder} exists already; name a folder to create")
    with open_trees(gym) as trees:
        for task in gym.tasks:
            _export_task(task, gym.environments[task.environment], trees, folder / task.id)
    return len(gym.tasks)


def _export_task(task: GymTask, recipe: EnvironmentRecipe, trees: TaskTrees, folder: Path) -> None:
    try:
        command = parse_command(task.command)
    except BadSuiteCommand as error:
        raise BadGym(f"task {task.id}: {error}") from error
    if command.runner is not Runner.PYTEST:
        raise BadGym(
            f"task {task.id} runs {task.command!r}; only tasks that pytest runs can be exported"
        )
    trees.check_out(task.id, folder / "environment" / "tree")
    tests = sorted({test.partition("::")[0] for test in (*task.fail_to_pass, *task.pass_to_pass)})
    expected = {
        "arguments": [word for word in command.arguments if word not in tests],
        "fail_to_pass": task.fail_to_pass,
        "pass_to_pass": task.pass_to_pass,
    }
    values = {
        name: json.dumps(getattr(task, name)) for name in ("repository", "licence", "base_commit")
    }
    texts = {
        "instruction.md": task.statement,
        "task.toml": _SETTINGS.format(**values),
        "environment/Dockerfile": _DOCKERFILE.format(python=recipe.python),
        "environment/requirements.txt": "".join(
            f"{line}\n" for line in recipe.lock or recipe.requirements
        ),
        "tests/test.sh": _TEST.format(tests=" ".join(map(_quote, tests))),
        "tests/test.patch": task.test_patch,
        "tests/expected.json": json.dumps(expected, indent=1) + "\n",
        "solution/solve.sh": _SOLUTION,
        "solution/solution.patch": task.patch,
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode(errors="surrogateescape"))
    shutil.copyfile(harbor_grade.__file__, folder / "tests" / "grade.py")
    for name in ("tests/test.sh", "solution/solve.sh"):
        (folder / name).chmod(0o755)


def _quote(path: str) -> str:
    return "'" + path.replace("'", "'\\''") + "'"
