"""An evaluation whose repository has tests, with the source tree and the environment to run them."""

import pytest

from app.db.session import transaction
from app.db.store.evidence import group_tests
from app.db.store.evidence.group_tests import SuiteRequest
from app.db.store.issues import evaluations
from app.db.store.issues.evaluations import NewEvaluation
from app.jobs.suite_jobs import RunTests
from app.settings import SuiteSettings
from tests.builders import plain_environments
from tests.builders.history import stored_verdict
from tests.builders.worker_scene import build_diff
from worker.git.tree_store import TreeStore
from worker.testing.run_tests import RunTestsHandler

CODE = "def area(w, h):\n    return w + h\n"
TESTS = """import unittest
from area import area


class AreaTest(unittest.TestCase):
    def test_square_of_two(self):
        self.assertEqual(area(2, 2), 4)

    def test_nothing(self):
        self.assertEqual(area(0, 0), 0)

    def test_product(self):
        self.assertEqual(area(2, 3), 6)
"""
"""Two tests pass on the base, which adds; the third does not."""
REQUEST = SuiteRequest(
    "python -m unittest test_area", plain_environments.NAME, 60, "main", stored_verdict.BASE
)


@pytest.fixture(scope="session")
def environments(tmp_path_factory):
    """The operator's folder of test environments."""
    return plain_environments.build_plain_environment(tmp_path_factory.mktemp("environments"))


@pytest.fixture
def settings(environments, tmp_path):
    return SuiteSettings(tests=environments, tests_trees=tmp_path / "trees")


@pytest.fixture
def testing(settings):
    """The handler with real sandboxes."""
    return RunTestsHandler(TreeStore(settings.tests_trees), settings)


def store_group(database, trees, *diffs, wanted=REQUEST, **more):
    """An evaluation with a rival for each diff, whose tests wait for a worker; the job that runs them."""
    with transaction(database) as connection:
        group = stored_verdict.settle(connection)
        pulls = (stored_verdict.FIRST, stored_verdict.SECOND, stored_verdict.LATE)
        rivals = tuple(map(stored_verdict.build_candidate, pulls, diffs))
        new = NewEvaluation(group, "issue", "advisory", 4, "Crash", "On empty", rivals, **more)
        made = evaluations.create(connection, stored_verdict.REPOSITORY, new).id
        group_tests.request(connection, made, wanted)
        group_tests.start(connection, made)
    tree = trees.directory / "room" / "tree"
    tree.mkdir(parents=True)
    (tree / "area.py").write_text(CODE)
    (tree / "test_area.py").write_text(TESTS)
    trees.offer(tree, made)
    place = (stored_verdict.INSTALLATION, stored_verdict.REPOSITORY, stored_verdict.ISSUE)
    return RunTests(*place, made)


@pytest.fixture
def store(database, settings):
    """`store(*results)`: a group whose rivals return these."""

    def build(*results, **more):
        trees = TreeStore(settings.tests_trees)
        return store_group(database, trees, *map(build_diff, results), **more)

    return build


@pytest.fixture
def read(database):
    """`read(job)`: the stored tests of a job's evaluation."""

    def load(job):
        with transaction(database) as connection:
            return group_tests.load(connection, job.evaluation)

    return load
