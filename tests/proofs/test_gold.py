"""Which definitions a patch changes, in a tree that is near the one it was made on."""

import difflib
from textwrap import dedent

import pytest

from model.codegraph.entities import EntityKind
from tests.proofs.gold import Entity, find_changed, nearest

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


def build_patch(after, before=CODE, path=PATH):
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{path}", f"b/{path}"
    )
    return "".join(lines).removesuffix("\n")


def list_changed_names(diff, tree=CODE):
    return [one.qualified_name for one in find_changed(diff, {PATH: tree}.get)]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
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
def test_changed_line_belongs_to_its_innermost_definition(old, new, expected):
    assert CODE.count(old) == 1
    assert list_changed_names(build_patch(CODE.replace(old, new))) == expected


def test_moved_hunk_is_found():
    diff = build_patch(CODE.replace("m // 3", "m / 3"))
    assert list_changed_names(diff, "# one\n# two\n" + CODE) == ["third.cut"]


def test_hunk_is_found_by_one_context_line():
    diff = build_patch(CODE.replace("m // 3", "m / 3"))
    assert list_changed_names(diff, CODE.replace("@cached", "@kept")) == ["third.cut"]
    assert list_changed_names(diff, CODE.replace("def cut(m)", "def cut(o)")) == []


def test_entity_has_its_name_and_parents():
    (thin,) = find_changed(build_patch(CODE.replace("half(1)", "half(2)")), {PATH: CODE}.get)
    assert (thin.name, thin.construct) == ("thin", EntityKind.CLASS_METHOD)
    assert thin.is_within(PATH, "Pie.Crust.thin")
    assert thin.is_within(PATH, "Pie")
    assert not thin.is_within(PATH, "Pi")
    assert not thin.is_within("pie/other.py", "Pie")
    assert not Entity(PATH, "Pie", EntityKind.CLASS).is_within(PATH, "Pie.Crust")


def test_new_files_and_other_languages_change_no_definition():
    assert find_changed(build_patch(CODE, before=""), {PATH: None}.get) == ()
    new = f"diff --git a/{PATH} b/{PATH}\nnew file mode 100644\n--- /dev/null\n+++ b/{PATH}\n@@ -0,0 +1 @@\n+x = 1\n"
    assert find_changed(new, {}.get) == ()
    assert (
        find_changed(
            build_patch("old\n", before="new\n", path="news.txt"), {"news.txt": "new\n"}.get
        )
        == ()
    )


MOVED = {
    "1": None,
    "2": "# one\n" + CODE,
    "3": CODE,
    "4": CODE,
    "5": CODE.replace("m // 3", "m / 3"),
}


def test_nearest_release_is_the_last_without_the_patch():
    diff = build_patch(CODE.replace("m // 3", "m / 3"))
    release, fit = nearest(diff, tuple(MOVED), lambda release, _: MOVED[release])
    assert (release, fit.hunks, fit.placed, fit.off, fit.is_whole) == ("4", 1, 1, 0, True)
    release, fit = nearest(diff, ("1", "2", "5"), lambda release, _: MOVED[release])
    assert (release, fit.off) == ("2", 1)


def test_no_release_fits_a_patch_without_a_place():
    diff = build_patch(CODE.replace("m // 3", "m / 3"))
    assert nearest(diff, ("1", "5"), lambda release, _: MOVED[release]) is None


def test_missing_hunk_makes_a_partial_fit():
    both = CODE.replace("n // HALF", "n / HALF").replace("half(1)", "half(2)")
    other = CODE.replace("half(1)", "half(3)")
    _, fit = nearest(build_patch(both), ("1",), lambda *_: other)
    assert (fit.hunks, fit.placed, fit.is_whole) == (2, 1, False)
