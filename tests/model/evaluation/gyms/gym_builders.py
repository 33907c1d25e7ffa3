"""A gym with one task on a small real repository, whose tests run in the sandbox."""

import difflib

from model.environments.recipe import EnvironmentRecipe
from model.gyms.gym_task import GymCandidate, GymTask, TestsFrom
from training.gym.gym_folder import build_manifest, write_gym
from training.gym.tree_store import TreeStore

CODE = "def slugify(title):\n    words = title.lower()\n    return '-'.join(words.split(' '))\n"
TEST = """
import sys, unittest
sys.path.insert(0, ".")
from slugs import slugify

class Slugs(unittest.TestCase):
    def test_words(self):
        self.assertEqual(slugify("Big World"), "big-world")

    def test_dash(self):
        self.assertEqual(slugify("a-b c"), "a-b-c")
"""
FIXED_TEST = (
    TEST + "\n    def test_spaces(self):\n        self.assertEqual(slugify('a  b'), 'a-b')\n"
)
TRUE = CODE.replace("split(' ')", "split()")
BREAKS = TRUE.replace("'-'", "'_'")
NO_CHANGE = CODE.replace("words = title.lower()", "words = title.strip().lower()")
LATE = "import time\ntime.sleep(60)\n" + TRUE
NAMES = ("true", "breaks", "no change", "late")
FAIL_TO_PASS = "test_slugs.Slugs.test_spaces"


def write_patch(path, old, new):
    lines = (old.splitlines(keepends=True), new.splitlines(keepends=True))
    return "".join(difflib.unified_diff(*lines, f"a/{path}", f"b/{path}"))


def build_task(identifier="slugs-1", candidates=(BREAKS, NO_CHANGE), **changes):
    """A task whose true patch is TRUE, and wrong candidates with this new content of the module."""
    values = {
        "id": identifier,
        "repository": "example/slugs",
        "base_commit": "0" * 40,
        "created": "2026-01-02",
        "statement": "slugify gives two dashes\n\nslugify('a  b') should be 'a-b'.",
        "patch": write_patch("slugs.py", CODE, TRUE),
        "minimal_patch": None,
        "test_patch": write_patch("tests/test_slugs.py", TEST, FIXED_TEST),
        "command": "python -m unittest discover -s tests",
        "environment": "any",
        "fail_to_pass": (FAIL_TO_PASS,),
        "pass_to_pass": (),
        "provenance": {},
        "licence": "MIT",
        "tests_from": TestsFrom.COMMIT,
        "candidates": tuple(
            GymCandidate(f"wrong-{n}", write_patch("slugs.py", CODE, new), False, "mutant")
            for n, new in enumerate(candidates, 1)
        ),
    }
    return GymTask(**values | changes)


def write_tasks(folder, *tasks):
    """Write a gym with the small repository as the base of each task; return its folder."""
    (tree := folder / "tree" / "tests").mkdir(parents=True)
    (tree.parent / "slugs.py").write_text(CODE)
    (tree / "test_slugs.py").write_text(TEST)
    store = TreeStore(folder / "store.git")
    base = store.add_folder(tree.parent)
    recipes = {"any": EnvironmentRecipe("3.11", ())}
    trees = (store, {task.id: base for task in tasks})
    write_gym(folder / "gym", build_manifest("small", tasks, (), {}), tasks, recipes, trees)
    return folder / "gym"
