"""Which definitions a patch changes, in a tree that is near the one it was made on."""

import difflib
from textwrap import dedent

import pytest

from model.codegraph.entities import EntityKind
from tests.proofs.gold import Entity, changed, nearest

PATH = "pie/maths.py"
CODE = dedent(
    """
    import math

    HALF = 2


    def half(n):
        return n // HALF


    @cached
    def third(n):
        def cut(m):
            return m // 3

        return cut(n)


    class Pie:
        size = 1

        @property
        def whole(self):
            return self.size

        class Crust:
            def thin(self):
                return half(1)
    """
).lstrip()


def patch(after, before=CODE, path=PATH):
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{path}", f"b/{path}"
    )
    return "".join(lines).removesuffix("\n")


def names(diff, tree=CODE):
    return [one.qualified_name for one in changed(diff, {PATH: tree}.get)]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("n // HALF", "n / HALF", ["half"]),
        ("m // 3", "m / 3", ["third.cut"]),
        ("return cut(n)", "return cut(n) or 0", ["third"]),
        ("@cached\n", "", ["third"]),
        ("size = 1", "size = 2", ["Pie"]),
        ("return self.size", "return 1", ["Pie.whole"]),
        ("return half(1)", "return half(2)", ["Pie.Crust.thin"]),
        ("import math\n", "import math\nimport cmath\n", []),
        ("HALF = 2\n", "HALF = 2\n\n\ndef quarter(n):\n    return n // 4\n", []),
        ("return self.size\n", "return self.size\n\n    def cut(self):\n        pass\n", ["Pie"]),
        ("    size = 1\n", "    size = 1\n\n\n\n", []),
        ("    return n // HALF\n", "    n = int(n)\n    return n // HALF\n", ["half"]),
    ],
)
def test_a_changed_line_belongs_to_the_innermost_definition_that_was_there(old, new, found):
    assert CODE.count(old) == 1
    assert names(patch(CODE.replace(old, new))) == found


def test_a_hunk_is_found_where_its_lines_have_moved_to():
    diff = patch(CODE.replace("m // 3", "m / 3"))
    assert names(diff, "# one\n# two\n" + CODE) == ["third.cut"]


def test_one_line_around_an_edit_is_enough_where_the_others_have_changed():
    diff = patch(CODE.replace("m // 3", "m / 3"))
    assert names(diff, CODE.replace("@cached", "@kept")) == ["third.cut"]
    assert names(diff, CODE.replace("def cut(m)", "def cut(o)")) == []


def test_an_entity_knows_its_name_and_what_it_stands_in():
    (thin,) = changed(patch(CODE.replace("half(1)", "half(2)")), {PATH: CODE}.get)
    assert (thin.name, thin.construct) == ("thin", EntityKind.CLASS_METHOD)
    assert thin.is_within(PATH, "Pie.Crust.thin")
    assert thin.is_within(PATH, "Pie")
    assert not thin.is_within(PATH, "Pi")
    assert not thin.is_within("pie/other.py", "Pie")
    assert not Entity(PATH, "Pie", EntityKind.CLASS).is_within(PATH, "Pie.Crust")


def test_new_files_and_other_languages_have_no_definition_that_was_there():
    assert changed(patch(CODE, before=""), {PATH: None}.get) == ()
    new = f"diff --git a/{PATH} b/{PATH}\nnew file mode 100644\n--- /dev/null\n+++ b/{PATH}\n@@ -0,0 +1 @@\n+x = 1\n"
    assert changed(new, {}.get) == ()
    assert changed(patch("old\n", before="new\n", path="news.txt"), {"news.txt": "new\n"}.get) == ()


MOVED = {
    "1": None,
    "2": "# one\n" + CODE,
    "3": CODE,
    "4": CODE,
    "5": CODE.replace("m // 3", "m / 3"),
}


def test_the_nearest_release_is_the_last_that_still_lacks_the_patch():
    diff = patch(CODE.replace("m // 3", "m / 3"))
    release, fit = nearest(diff, tuple(MOVED), lambda release, _: MOVED[release])
    assert (release, fit.hunks, fit.placed, fit.off, fit.is_whole) == ("4", 1, 1, 0, True)
    release, fit = nearest(diff, ("1", "2", "5"), lambda release, _: MOVED[release])
    assert (release, fit.off) == ("2", 1)


def test_no_release_is_near_where_no_hunk_has_a_place():
    diff = patch(CODE.replace("m // 3", "m / 3"))
    assert nearest(diff, ("1", "5"), lambda release, _: MOVED[release]) is None


def test_a_hunk_without_a_place_makes_no_whole_fit():
    both = CODE.replace("n // HALF", "n / HALF").replace("half(1)", "half(2)")
    other = CODE.replace("half(1)", "half(3)")
    _, fit = nearest(patch(both), ("1",), lambda *_: other)
    assert (fit.hunks, fit.placed, fit.is_whole) == (2, 1, False)
