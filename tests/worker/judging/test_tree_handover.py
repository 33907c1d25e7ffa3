"""The base's tree comes out of git whole, or not at all; what was not handed over is gone."""

import pytest

from app.values.identifiers import CommitSha, EvaluationId
from tests.builders.github.local_github import REPOSITORY
from tests.builders.tars import files_in
from worker.git.checkout import Checkouts
from worker.git.hardened_git import GitUnreachable
from worker.git.tree_export import ExportLimits, TreeExporter
from worker.judging.tree_handover import BaseCommit, TreeHandover
from worker.queue.errors import Postponed

EVALUATION = EvaluationId(5)
FILES = {"area.py": "w + h\n", "deep/er.txt": "x\n"}


class Keys:
    """Tokens as GitHub's connection has them."""

    forgotten = False

    @property
    def tokens(self):
        return self

    def get_token(self, _scope):
        return "ghs_7_token"

    def forget(self, _scope):
        self.forgotten = True


@pytest.fixture
def base(upstream):
    began = upstream.commit(FILES, ref="refs/heads/main")
    upstream.commit({"area.py": "w * h\n"}, began, ref="refs/heads/main")
    return BaseCommit("main", CommitSha(began))


@pytest.fixture
def handover(checkouts, exports):
    return TreeHandover(Keys(), checkouts, exports)


def list_folders(exports):
    return [path.name for path in exports.directory.iterdir() if path.is_dir()]


def test_a_tree_is_handed_over_as_it_was_committed(handover, exports, base, server):
    for evaluation in (EVALUATION, EvaluationId(6)):
        with handover.export_tree(REPOSITORY, base) as exported:
            exported.hand_over(evaluation)
        tree = handover.tree_store.find(evaluation)
        assert files_in(tree) == {name: text.encode() for name, text in FILES.items()}
    assert server.fetches == 1
    assert sorted(list_folders(exports)) == ["ready-5", "ready-6"]


def test_a_tree_that_is_not_handed_over_is_deleted(handover, exports, base):
    with handover.export_tree(REPOSITORY, base) as exported:
        assert exported.tree.is_dir()
    assert list_folders(exports) == []


@pytest.mark.parametrize(
    "wrong", [BaseCommit("main", CommitSha("1" * 40)), BaseCommit("-x", CommitSha("1" * 40))]
)
def test_a_commit_that_is_not_there_gives_no_tree(handover, exports, base, wrong):
    with handover.export_tree(REPOSITORY, wrong) as exported:
        assert exported is None
    assert list_folders(exports) == []


def test_a_tree_that_is_too_large_gives_none(checkouts, exports, base):
    small = TreeExporter(exports.directory, ExportLimits(files=1))
    with TreeHandover(Keys(), checkouts, small).export_tree(REPOSITORY, base) as exported:
        assert exported is None


def test_a_busy_checkout_postpones_the_export(checkouts, exports, base):
    hasty = Checkouts(checkouts.directory, checkouts.github, patience_seconds=0.0)
    with checkouts.open_repository(REPOSITORY), pytest.raises(Postponed, match="in use"):
        TreeHandover(Keys(), hasty, exports).export_tree(REPOSITORY, base).__enter__()
    assert list_folders(exports) == []


def test_a_github_that_is_down_is_waited_for_with_another_token(handover, exports, base, server):
    server.refuse = 503
    with pytest.raises(GitUnreachable):
        handover.export_tree(REPOSITORY, base).__enter__()
    assert handover.github.forgotten
    assert list_folders(exports) == []
