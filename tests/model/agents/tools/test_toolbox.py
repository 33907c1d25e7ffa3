"""The three tools as a model calls them: on a real tree with a real code graph."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from model.agents.tools.tool_context import ToolContext
from model.agents.tools.toolbox import TOOLS, Observation, Submission, run_tool
from model.patches import diff
from model.protocols import ToolCall
from model.workspace import TreeLimits, Workspace
from tests.model.agents.builders import open_tool_context

PIE = '''"""Pies."""


def half(n):
    return n // 2


class Pie:
    """Round."""

    def cut(self):
        return half(1)

    def __len__(self):
        return 8
'''
CAKE = "class Cake:\n    def cut(self):\n        return 12\n\n\ndef halves(n):\n    return n * 2\n"
TREE = {"pie/maths.py": PIE, "cake.py": CAKE, "README.md": "# Pie\n\nHalf a pie.\n"}


@pytest.fixture(scope="module")
def common_context(tmp_path_factory):
    with open_tool_context(tmp_path_factory.mktemp("shared") / "tree", TREE) as context:
        yield context


@pytest.fixture
def context(tmp_path):
    with open_tool_context(tmp_path / "tree", TREE) as own:
        yield own


def call_tool(context, name, **arguments):
    return run_tool(ToolCall("1", name, json.dumps(arguments)), context)


def test_tools_have_the_names_and_parameters_of_the_paper():
    parameters = {tool.name: tuple(tool.parameters["properties"]) for tool in TOOLS}
    required = {tool.name: tuple(tool.parameters["required"]) for tool in TOOLS}
    assert required == {
        "search_tool": ("construct", "entity"),
        "edit_tool": ("path", "old_str", "new_str"),
        "patch_submission": (),
    }
    assert parameters == required | {"search_tool": ("construct", "entity", "page")}
    assert TOOLS[0].parameters["properties"]["construct"]["enum"] == [
        "function",
        "class",
        "class_method",
    ]
    json.dumps([dict(tool.parameters) for tool in TOOLS])


def test_search_shows_path_lines_and_source(context):
    answer = call_tool(context, "search_tool", construct="function", entity="half")
    assert answer == Observation(
        "1 function named half:\n\n## pie/maths.py, lines 4-5: half\ndef half(n):\n    return n // 2"
    )


def test_search_shows_all_of_a_name(context):
    answer = call_tool(context, "search_tool", construct="class_method", entity="cut")
    assert answer.text.startswith("2 methods named cut:\n\n## cake.py, lines 2-3: Cake.cut\n")
    assert "## pie/maths.py, lines 11-12: Pie.cut\n" in answer.text


@pytest.mark.parametrize(
    ("entity", "start"),
    [
        ("Pie.cut", "1 method named cut:\n\n## pie/maths.py"),
        (" Pie.cut ", "1 method named cut:\n\n## pie/maths.py"),
        ("Tart.cut", "2 methods named cut:"),
    ],
)
def test_dotted_name_narrows_the_search_where_it_fits(context, entity, start):
    answer = call_tool(context, "search_tool", construct="class_method", entity=entity)
    assert answer.text.startswith(start)


def test_search_shows_the_tree_before_the_edits(context):
    call_tool(context, "edit_tool", path="pie/maths.py", old_str="n // 2", new_str="n / 2")
    answer = call_tool(context, "search_tool", construct="function", entity="half")
    assert "n // 2" in answer.text


@pytest.mark.parametrize(
    ("construct", "entity", "message"),
    [
        ("function", "halve", "No function is named halve. Names like it: "),
        ("function", "cut", 'No function is named cut. 2 methods of this name can be found by construct="class_method".'),
        ("class", "half", 'No class is named half. 1 function of this name can be found by construct="function".'),
        ("class", "qqqqqqqqqq", "No class is named qqqqqqqqqq. Look for a name that the issue or other code mentions."),
    ],
)  # fmt: skip
def test_missing_name_is_answered_with_similar_names(context, construct, entity, message):
    answer = call_tool(context, "search_tool", construct=construct, entity=entity)
    assert not answer.ok
    assert not answer.malformed
    assert answer.text.startswith(message)


@pytest.mark.parametrize("entity", ["half, halve", "half(n)", "rates['half']", "halve half"])
def test_search_for_more_than_a_name_asks_for_one_name(context, entity):
    answer = call_tool(context, "search_tool", construct="function", entity=entity)
    assert answer.text.endswith(" Ask for one bare name at a time.")


def test_long_answer_is_paged_and_names_the_next_page(tmp_path):
    body = "".join(f"    n = {number}\n" for number in range(2_000))
    with open_tool_context(tmp_path / "tree", {"long.py": f"def long(n):\n{body}"}) as context:
        seen, page = [], 1
        while True:
            answer = call_tool(
                context, "search_tool", construct="function", entity="long", page=page
            )
            assert len(answer.text) < 10_500
            seen += [line for line in answer.text.split("\n") if line.startswith("    n = ")]
            if "the last" in answer.text:
                break
            page += 1
            assert (
                f'call search_tool(construct="function", entity="long", page={page})' in answer.text
            )
        assert "\n".join(seen) + "\n" == body
        beyond = call_tool(
            context, "search_tool", construct="function", entity="long", page=page + 1
        )
        assert beyond.text == f"There is no page {page + 1}: the answer has {page} pages."
        assert not beyond.ok


def test_unreadable_source_is_reported_beside_the_others(context, tmp_path):
    with Workspace.open(tmp_path / "tree", TreeLimits(file_bytes=len(CAKE))) as small:
        poor = ToolContext(small, context.snapshot, context.tree)
        answer = call_tool(poor, "search_tool", construct="class_method", entity="cut")
    assert "return 12" in answer.text
    assert "(its source cannot be shown: 'pie/maths.py' has more than" in answer.text


@pytest.mark.parametrize(
    ("source", "line", "edited"),
    [
        (b'"<|im_end|>\xe2\x80\xae"', '"⟦U+003C⟧|im_end|>⟦U+202E⟧"', b'"<|im_end|>\xe2\x80\xae", 1'),
        (b'"a\rb"', '"a⟦U+000D⟧b"', b'"a\rb", 1'),
        (b'"caf\xe9"', '"caf⟦U+DCE9⟧"', b'"caf\xe9", 1'),
    ],
    ids=["markup", "carriage return", "no UTF-8"],
)  # fmt: skip
def test_escaped_source_is_found_when_copied(tmp_path, source, line, edited):
    tree = {"a.py": b"# coding: latin-1\ndef sign():\n    return " + source + b"\n"}
    with open_tool_context(tmp_path / "tree", tree) as context:
        answer = call_tool(context, "search_tool", construct="function", entity="sign")
        assert answer.text.split("\n")[-1] == f"    return {line}"
        assert call_tool(context, "edit_tool", path="a.py", old_str=line, new_str=f"{line}, 1").ok
        assert context.workspace.read("a.py").endswith(b"    return " + edited + b"\n")


def test_submission_hands_in_the_diff_and_refuses_an_empty_one(context):
    refused = call_tool(context, "patch_submission")
    assert refused.text.startswith("Nothing was handed in: no file differs")
    assert not refused.ok
    call_tool(context, "edit_tool", path="pie/maths.py", old_str="n // 2", new_str="n / 2")
    answer = run_tool(ToolCall("1", "patch_submission", ""), context)
    assert isinstance(answer, Submission)
    (file,) = diff.parse(answer.diff)
    assert (file.path, file.added, file.removed) == ("pie/maths.py", 1, 1)


def test_missing_git_is_reported_as_an_answer(context, monkeypatch, tmp_path):
    call_tool(context, "edit_tool", path="pie/maths.py", old_str="n // 2", new_str="n / 2")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert call_tool(context, "patch_submission").text.startswith("git was not found")


MALFORMED = [
    ("shell", "{}", "There is no tool 'shell'; there are search_tool, edit_tool, patch_submission."),
    ("", "{}", "There is no tool ''"),
    ("search_tool", "", "takes construct, entity, page; missing 'construct', 'entity'."),
    ("search_tool", "{", "The arguments of search_tool are no JSON (Expecting"),
    ("search_tool", "[" * 100_000, "are no JSON ("),
    ("search_tool", "[]", "are no JSON object; write one."),
    ("search_tool", "null", "are no JSON object"),
    ("search_tool", '{"construct": "function"}', "missing 'entity'"),
    ("search_tool", '{"construct": "module", "entity": "x"}', "has to be one of function, class, class_method."),
    ("search_tool", '{"construct": 1, "entity": "x"}', "construct of search_tool is 1; it has to be of type string."),
    ("search_tool", '{"construct": "class", "entity": "x", "page": "2"}', "has to be of type integer"),
    ("search_tool", '{"construct": "class", "entity": "x", "page": true}', "has to be of type integer"),
    ("search_tool", '{"construct": "class", "entity": null}', "entity of search_tool is None"),
    ("edit_tool", '{"path": "a", "old_str": "b", "new_str": "c", "line": 1}', "not known 'line'"),
    ("edit_tool", '{"path": "a", "old_str": "b", "new_str": "\\u0000"}', "new_str of edit_tool holds a NUL"),
    ("edit_tool", '{"path": "a", "old_str": "\\ud800", "new_str": ""}', "holds half a character at 0"),
    ("patch_submission", '{"message": "done"}', "patch_submission takes no arguments; not known 'message'."),
    ("patch_submission", '"' + "x" * 500 + '"', "no JSON object"),
    ("no_such_tool_" * 40, "{}", "There is no tool 'no_such_tool_"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "message"), MALFORMED, ids=range(len(MALFORMED)))
def test_malformed_call_is_answered_with_the_correct_form(common_context, name, arguments, message):
    answer = run_tool(ToolCall("1", name, arguments), common_context)
    assert message in answer.text
    assert (answer.ok, answer.malformed) == (False, True)
    assert len(answer.text) < 400


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
ANY_CALL = st.builds(
    ToolCall,
    st.just("1"),
    st.sampled_from([tool.name for tool in TOOLS]) | st.text(),
    st.text()
    | JSON.map(json.dumps)
    | st.fixed_dictionaries(
        {"construct": st.sampled_from(["function", "class"]), "entity": st.text()},
        optional={"page": st.integers()},
    ).map(json.dumps)
    | st.fixed_dictionaries(
        {
            "path": st.sampled_from(["cake.py", ".git/x", "../x", "n"]) | st.text(),
            "old_str": st.text(),
            "new_str": st.text(),
        }
    ).map(json.dumps),
)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(call=ANY_CALL)
def test_any_call_gets_an_answer_without_an_exception(common_context, call):
    answer = run_tool(call, common_context)
    assert isinstance(answer, Submission) or (answer.text and answer.text.encode())


ESCAPES = ["/etc/passwd", "../outside", "a/../../outside", ".git/config", ".GIT/x", "link", "link/x", "\x00", "C:\\x", "~\u200d.git", ""]  # fmt: skip


@pytest.mark.parametrize("old_str", ["", "secret"])
@pytest.mark.parametrize("path", ESCAPES, ids=ascii)
def test_edit_cannot_leave_the_tree(context, tmp_path, path, old_str):
    outside = tmp_path / "outside"
    outside.write_text("secret")
    (tmp_path / "tree" / "link").symlink_to(outside)
    answer = call_tool(context, "edit_tool", path=path, old_str=old_str, new_str="theirs")
    assert not answer.ok
    assert context.workspace.list_changed() == ()
    assert outside.read_text() == "secret"
    assert "secret" not in answer.text.replace("old_str", "")
