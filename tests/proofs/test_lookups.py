"""What counts as found, asked of the real tool."""

from model.codegraph.entities import EntityKind
from tests.model.agents.builders import CODE, TREE, open_tool_context
from tests.proofs.gold import Entity
from tests.proofs.lookups import answers, found, unreachable

HALF = Entity("pie/maths.py", "half", EntityKind.FUNCTION)
CUT = Entity("pie/maths.py", "Pie.cut", EntityKind.CLASS_METHOD)


def asked(tmp_path, *names, tree=TREE, wanted=(HALF, CUT)):
    with open_tool_context(tmp_path / "tree", tree) as desk:
        return found(names, answers(desk, names), wanted)


def test_a_definition_is_found_by_its_own_name(tmp_path):
    one = asked(tmp_path, "half", "quarter", "issue")
    assert (one.names, one.lookups, one.hits, one.definitions) == (3, 1, 1, 1)
    assert (one.named, one.first_page, one.shown, one.files) == (1, 1, 1, 1)


def test_a_method_is_shown_by_its_class(tmp_path):
    one = asked(tmp_path, "Pie")
    assert (one.hits, one.named, one.shown, one.files) == (0, 0, 1, 1)


def test_a_long_answer_has_a_first_page_without_the_last(tmp_path):
    long = "def half(n):\n" + "    n = int(n)\n" * 900 + "    return n // 2\n"
    tree = {"a/maths.py": long, "pie/maths.py": CODE}
    one = asked(tmp_path, "half", tree=tree)
    assert (one.lookups, one.definitions, one.named, one.first_page) == (1, 2, 1, 0)


def test_nothing_is_found_where_no_name_is_one(tmp_path):
    one = asked(tmp_path, "quarter")
    assert (one.lookups, one.definitions, one.named, one.shown, one.files) == (0, 0, 0, 0, 0)


def test_what_the_tool_has_not_is_told(tmp_path):
    gone = Entity("pie/maths.py", "third", EntityKind.FUNCTION)
    with open_tool_context(tmp_path / "tree", TREE) as desk:
        assert unreachable(desk, [HALF, CUT, gone]) == [gone]
