"""Which release stands for the tree of an issue."""

from model.domain import Issue
from tests.proofs.instances import Instance
from tests.proofs.trees import choose_releases, timely

RELEASES = tuple("abcdefghijkl")
BEFORE, AFTER = "one\ntwo\nthree\n", "one\n2\nthree\n"
PATCH = "--- a/pie.py\n+++ b/pie.py\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"


def test_only_releases_near_the_neighbours_count():
    order = [0, 4, 5, 5, 11, None, 5, 6, 7]
    assert timely(RELEASES, order, 4) == tuple("cdefghi")
    assert timely(RELEASES, [0], 0) == tuple("abcd")
    assert timely(RELEASES, [11], 0) == tuple("ijkl")


def test_all_releases_count_without_neighbours():
    assert timely(RELEASES, [None, None], 1) == RELEASES


def test_issue_takes_the_last_release_its_patch_fits(tmp_path):
    trees = {}
    for release, content in {"1": BEFORE, "2": BEFORE, "3": AFTER}.items():
        trees[release] = tmp_path / release
        trees[release].mkdir()
        (trees[release] / "pie.py").write_text(content)
    fitting = Instance("a__pie-1", "a/pie", Issue("Two", ""), PATCH)
    other = Instance("a__pie-2", "a/pie", Issue("Two", ""), PATCH.replace("two", "zwei"))
    first, second = choose_releases([fitting, other], trees)
    assert (first.release, first.tree, first.fit.off) == ("2", trees["2"], 0)
    assert second is None
