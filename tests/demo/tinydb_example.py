"""An issue of TinyDB whose tests run on four patches: the project's own fix, and three wrong ones of the packaged gym."""

from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from model.gyms.gym_folder import open_trees, read_gym
from model.gyms.gym_task import GymCandidate
from tests.demo.example.example import Example, Rival

ENVIRONMENT = "tinydb"
"""Name of the test environment, which the demo builds from the packages of its own Python."""
PACKAGES = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")
_TASK = "tinydb-5040649b7167"
_TITLES = (
    "Keep the id of a Document",
    "Update many documents at once",
    "Insert a Document by its id",
    "Take doc_id from a Document",
)
"""In the order of the task's candidates: a part of the fix, another commit's edit, the fix, a mutant of it."""
_CONFIG = f"""\
version: 1
mode: advisory
quiet_minutes: 0
comments: all
tests:
  command: pytest -q -o addopts= tests
  environment: {ENVIRONMENT}
  seconds: 60
"""


def load() -> Example:
    """Load the issue, the base tree and the patches from the gym that `r4p gym sample` copies."""
    gym = read_gym(Path(str(files("training.gym.sample"))))
    task = next(task for task in gym.tasks if task.id == _TASK)
    heading, _, body = task.statement.partition("\n")
    with TemporaryDirectory() as room, open_trees(gym) as trees:
        folder = Path(room) / "tree"
        trees.check_out(task.id, folder)
        tree = {
            path.relative_to(folder).as_posix(): path.read_text()
            for path in folder.rglob("*")
            if path.suffix in {".py", ".ini", ".toml"} or path.name == "LICENSE"
        }
    return Example(
        repository="octo-org/tinydb",
        title=heading.removesuffix(" (tinydb)"),
        body=body.strip(),
        tree=tree | {".github/r4p.yml": _CONFIG},
        rivals=tuple(map(_build_rival, range(1, 5), _TITLES, task.candidates)),
    )


def _build_rival(number: int, title: str, candidate: GymCandidate) -> Rival:
    return Rival(f"coding-agent-{number}", title, candidate.patch, candidate.resolved)
