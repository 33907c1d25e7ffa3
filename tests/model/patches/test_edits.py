"""Edits are read leniently, without comments, and compared by their words."""

from hypothesis import given
from hypothesis import strategies as st

from model.patches import edits
from tests.model.builders import build_diff

DIFF = '''\
diff --git a/pkg/a.py b/pkg/a.py
--- a/pkg/a.py
+++ b/pkg/a.py
@@ -10,6 +10,9 @@ class Shelf:
     def find(self, key):
-        return self.books[key]
+        # looked up twice
+        """Said
+        twice."""
+        return self.books.get(key)  # may be None
 @mark
     def put(self, book):
-        -- self.count
+        self.count += 1
\\ No newline at end of file
diff --git a/old.py b/old.py
--- a/old.py
+++ /dev/null
@@ -1 +0,0 @@
-gone = "yes"
'''


def test_edit_has_code_places_and_functions():
    edit = edits.read_edit(DIFF)
    assert edit.files == ("pkg/a.py", "old.py")
    assert edit.added == ("        return self.books.get(key)", "        self.count += 1")
    assert edit.removed == (
        "        return self.books[key]",
        "        -- self.count",
        'gone = "yes"',
    )
    assert edit.places == {
        ("pkg/a.py", 11),
        ("pkg/a.py", 12),
        ("pkg/a.py", 14),
        ("pkg/a.py", 15),
        ("old.py", 1),
    }
    assert edit.functions == {("pkg/a.py", "find"), ("pkg/a.py", "put")}
    assert edit.areas == {("pkg/a.py", 2), ("pkg/a.py", 3), ("old.py", 0)}
    assert edit.code.startswith("+return self.books.get(key)\n+self.count += 1\n-return")


def test_names_are_new_kept_or_unseen():
    edit = edits.read_edit(DIFF)
    assert edit.new_tokens["get"] == 1
    assert "books" not in edit.names
    assert edit.names == {"get"}
    assert edit.unseen_names == {"get"}
    assert {"get", "-gone", "-["} <= edit.changes
    assert "find" in edit.context_names


def test_comment_changes_identity_and_not_code():
    plain = edits.read_edit(build_diff("x = 1"))
    chatty = edits.read_edit(build_diff("x = 1  # all tests pass"))
    assert plain.added == chatty.added
    assert plain.identity != chatty.identity
    assert plain.identity == edits.read_edit(build_diff("x = 1")).identity


def test_code_after_a_changed_docstring_is_code():
    head = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,3 @@\n def f():\n"
    edit = edits.read_edit(head + '-    """Old\n+    """New\n+    os.system("evil")\n')
    assert edit.code == '+os.system("evil")'


def test_open_string_hides_nothing_of_the_next_hunk_or_file():
    opens = "@@ -1 +1,2 @@\n-old\n+def f():\n" + '+    """Said\n'
    evil = "@@ -9 +10 @@\n-old\n+evil()\n"
    for between in ("", "--- a/b.py\n+++ b/b.py\n"):
        edit = edits.read_edit(f"--- a/a.py\n+++ b/a.py\n{opens}{between}{evil}")
        assert edit.added == ("def f():", "evil()")


def test_file_with_only_comment_changes_has_no_code():
    edit = edits.read_edit(
        build_diff("x = 1") + build_diff("// new", path="b.js", removed="// old")
    )
    assert edit.file_set == {"a.py", "b.js"}
    assert edit.code_files == {"a.py"}


def test_cut_hunk_is_read_to_its_end():
    cut = "--- a/a.py\n+++ b/a.py\n@@ -1,9 +1,9 @@ def f():\n-old\n+new"
    edit = edits.read_edit(cut)
    assert (edit.added, edit.removed, edit.functions) == (("new",), ("old",), {("a.py", "f")})


@given(st.text(alphabet="+-@ 1,a#\n\"'\\", max_size=300))
def test_any_text_is_read_without_an_error(text):
    for edit in (
        edits.read_edit(text),
        edits.read_edit(f"--- a/x\n+++ b/x\n@@ -1,5 +1,5 @@\n{text}"),
    ):
        assert len(edit.added) <= text.count("+")
        assert len(edit.removed) <= text.count("-")


words = st.lists(st.sampled_from(["if", "x", "==", "0", "return"]), max_size=8).map(" ".join)
bags = words.map(lambda line: edits.count_changed_words(build_diff(line)))


def test_words_of_changed_lines_count_on_their_side():
    bag = edits.count_changed_words(build_diff("return x(1)", removed="return x"))
    assert bag == {"+return": 1, "+x": 1, "+(": 1, "+1": 1, "+)": 1, "-return": 1, "-x": 1}


def test_overlap_matches_hand_computed_values():
    left, right = (edits.count_changed_words(f"+{line}\n") for line in ("a b c", "a b d"))
    assert edits.measure_overlap(left, right) == 0.5
    assert edits.measure_overlap(edits.count_changed_words(""), edits.count_changed_words("")) == 1


@given(bags, bags)
def test_overlap_is_symmetric_and_between_0_and_1(left, right):
    assert edits.measure_overlap(left, right) == edits.measure_overlap(right, left)
    assert 0 <= edits.measure_overlap(left, right) <= 1
    assert (edits.measure_overlap(left, right) == 1) == (left == right)
