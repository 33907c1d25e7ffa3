"""What counts as found, asked of the real tool."""

from model.codegraph.entities import EntityKind
from tests.model.agents.builders import CODE, TREE, open_tool_context
from tests.proofs.gold import Entity
from tests.proofs.lookups import answers, count_found, unreachable

HALF = Entity("pie/maths.py", "half", EntityKind.FUNCTION)
CUT = Entity("pie/maths.py", "Pie.cut", EntityKind.CLASS_METHOD)


def look_up(tmp_path, *names, tree=TREE, wanted=(HALF, CUT)):
    with open_tool_context(tmp_path / "tree", tree) as desk:
        return count_found(names, answers(desk, names), wanted)


def test_definition_is_found_by_its_name(tmp_path):
    looked_up = look_up(tmp_path, "half", "quarter", "issue")
    assert (looked_up.names, looked_up.lookups, looked_up.hits, looked_up.definitions) == (
        3,
        1,
        1,
        1,
    )
    assert (looked_up.named, looked_up.first_page, looked_up.shown, looked_up.files) == (1, 1, 1, 1)


def test_method_is_shown_by_its_class(tmp_path):
    looked_up = look_up(tmp_path, "Pie")
    assert (looked_up.hits, looked_up.named, looked_up.shown, looked_up.files) == (0, 0, 1, 1)


def test_first_page_of_a_long_answer_lacks_the_last_definition(tmp_path):
    long = "def half(n):\n" + "    n = int(n)\n" * 900 + "    return n // 2\n"
    tree = {"a/maths.py": long, "pie/maths.py": CODE}
    looked_up = look_up(tmp_path, "half", tree=tree)
    assert (looked_up.lookups, looked_up.definitions, looked_up.named, looked_up.first_page) == (
        1,
        2,
        1,
        0,
    )


def test_unknown_name_finds_nothing(tmp_path):
    looked_up = look_up(tmp_path, "quarter")
    assert (
        looked_up.lookups,
        looked_up.definitions,
        looked_up.named,
        looked_up.shown,
        looked_up.files,
    ) == (0, 0, 0, 0, 0)


def test_unreachable_definition_is_listed(tmp_path):
    gone = Entity("pie/maths.py", "third", EntityKind.FUNCTION)
    with open_tool_context(tmp_path / "tree", TREE) as desk:
        assert unreachable(desk, [HALF, CUT, gone]) == [gone]
