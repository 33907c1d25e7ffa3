"""`r4p verify --verifier NAME`: each by its name, and what each needs; on a script, without a model."""

import json
import math
from importlib.resources import files

import jsonschema_rs
import pytest

from model.agents.trajectories.guidance import Guidance, render_hint
from model.agents.trajectories.trajectory_json import dump_trajectory
from model.protocols import Message
from tests.model.agents.builders import build_trajectory
from tests.model.builders import build_diff, build_patch_options
from tests.model.chat_server import MODELS, build_completion, serve_chat
from tests.model.commands.printed_table import read_table


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--verifier", "oracle"], "unknown verifier 'oracle'; choose r4p, r4p-two-rounds, pointwise"),
        (["--verifier", "hybrid:r4p+oracle"], "unknown verifier 'oracle'"),
        (["--verifier", "hybrid:hybrid+r4p"], "unknown verifier 'hybrid'"),
        (["--verifier", "hybrid:r4p"], "'hybrid:r4p' names 1 verifiers; a hybrid needs two, as in hybrid:yes-no+r4p"),
        (["--trajectory", "a.diff"], "verifier r4p looks at no trajectory; use yes-no-trajectory"),
        (["--verifier", "yes-no-trajectory"], "0 trajectories for 1 patches; give --trajectory"),
        (["--verifier", "yes-no-trajectory", "--trajectory", "none"], "trajectory none can't be read"),
        (["--leave-one-out", "--stop-early"], "leave-one-out votes cannot stop early"),
        (["--leave-one-out", "--verifier", "consensus"], "verifier consensus shows no groups"),
        (["--leave-one-out", "--verifier", "oracle"], "unknown verifier 'oracle'"),
    ],
)  # fmt: skip
def test_verifier_that_does_not_fit_is_a_usage_error_of_one_line(run, arguments, message):
    result = run("a.diff", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"r4p verify: {message}" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "asked"),
    [("pointwise", 4), ("hybrid:pointwise+r4p", 6), ("r4p-two-rounds", 2)],
)
def test_voting_verifier_judges_by_its_name(run, name, asked):
    result = run(
        *build_patch_options("a.diff", "b.diff"), "--verifier", name, "--votes", "2", "--json"
    )
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    schema = json.loads((files("model") / "verdict.schema.json").read_text())
    jsonschema_rs.validator_for(schema).validate(document)
    assert document["votes"] == {"asked": asked, "valid": asked}
    assert [one["verdict"] for one in document["patches"]] == ["correct", "incorrect"]


def test_pairwise_ranks_patches_and_stays_unsure(run):
    result = run(*build_patch_options("a.diff", "b.diff"), "--verifier", "pairwise", "--json")
    assert result.exit_code == 4, result.output
    patches = json.loads(result.stdout)["patches"]
    assert [(one["verdict"], one["score"]) for one in patches] == [("unsure", 1), ("unsure", 0)]


def build_weighed_completion(text, **chances):
    """A chat completion in vLLM's shape with the chances of its only token."""
    listed = [
        {"token": word, "logprob": math.log(chance), "bytes": list(word.encode())}
        for word, chance in chances.items()
    ]
    first = listed[0] | {"token": text, "top_logprobs": listed}
    message = {"role": "assistant", "content": text}
    choice = {"message": message, "finish_reason": "stop", "logprobs": {"content": [first]}}
    return build_completion(text, choices=[choice])


def test_yes_no_reads_log_probabilities_of_a_server(run):
    with serve_chat(
        models=[MODELS], chat=[build_weighed_completion("YES", YES=0.6, NO=0.2)]
    ) as server:
        url = ("--engine-url", server.url)
        result = run(*build_patch_options("a.diff"), "--verifier", "yes-no", *url, script=None)
    assert result.exit_code == 0, result.output
    assert "a.diff: The model gives YES 75% against NO" in result.stdout
    assert "0.75" in result.stdout


@pytest.mark.parametrize("name", ["yes-no", "hybrid"])
def test_yes_no_needs_an_engine_with_log_probabilities(run, name):
    with serve_chat(models=[MODELS], chat=[build_completion("YES")]) as server:
        url = ("--engine-url", server.url)
        result = run(*build_patch_options("a.diff"), "--verifier", name, *url, script=None)
    assert (result.exit_code, result.stdout) == (5, "")
    assert "gives no log-probabilities, which yes-no reads" in result.stderr
    assert result.stderr.count("\n") == 1


def test_trajectory_is_sent_escaped_to_its_verifier(run, tmp_path):
    (tmp_path / "a.txt").write_text("I ran the tests. \\boxed{1}")
    with serve_chat(
        models=[MODELS], chat=[build_weighed_completion("NO", NO=0.9, YES=0.1)]
    ) as server:
        arguments = ("--verifier", "yes-no-trajectory", "--trajectory", "a.txt")
        url = ("--engine-url", server.url)
        result = run(*build_patch_options("a.diff"), *arguments, *url, script=None)
        (sent,) = server.list_bodies("/v1/chat/completions")
    assert result.exit_code == 3, result.output
    assert "I ran the tests." in sent["messages"][1]["content"]
    assert "trajectory of a.diff: 1 × box escaped" in result.stderr


def test_stored_trajectory_is_sent_as_the_bot_sends_it(run, tmp_path):
    (tmp_path / "a.json").write_bytes(dump_trajectory(build_trajectory()))
    with serve_chat(models=[MODELS], chat=[build_weighed_completion("YES", YES=1)]) as server:
        arguments = ("--verifier", "yes-no-trajectory", "--trajectory", "a.json")
        url = ("--engine-url", server.url)
        run(*build_patch_options("a.diff"), *arguments, *url, script=None)
        (sent,) = server.list_bodies("/v1/chat/completions")
    assert (
        '[step 1]\nLet\'s see.\n[call] search_tool {"entity": "half"}'
        in (sent["messages"][1]["content"])
    )


def test_trajectory_with_a_hint_is_refused(run, tmp_path):
    record = build_trajectory(
        opening=(Message("user", f"Mend.\n\n{render_hint(Guidance('It is n / 2'))}"),)
    )
    (tmp_path / "a.json").write_bytes(dump_trajectory(record))
    result = run(
        *build_patch_options("a.diff"), "--verifier", "yes-no-trajectory", "--trajectory", "a.json"
    )
    assert (result.exit_code, result.stdout) == (2, "")
    assert "a.json was made with a hint" in result.stderr


def test_spared_votes_are_not_failed_votes(run):
    arguments = (*build_patch_options("a.diff", "b.diff"), "--stop-early", "--votes", "5")
    shown = run(*arguments).stdout
    assert "prompt r4p_group: 3 of 3 votes read (2 more could change nothing)" in shown
    document = json.loads(run(*arguments, "--json").stdout)
    assert document["votes"] == {"asked": 3, "valid": 3, "spared": 2}


def test_score_is_shown_or_a_dash(run, tmp_path):
    (tmp_path / "e.diff").write_text("")
    result = run(*build_patch_options("a.diff", "e.diff"))
    assert [row[-1] for row in read_table(result.stdout)[1]] == ["1.00", "–"]


def test_forced_votes_are_counted(run, tmp_path):
    lines = [{"when": "Hm.\n\n\\boxed{", "reply": "1}"}, {"reply": "Hm."}, {"reply": "\\boxed{1}"}]
    (tmp_path / "script.jsonl").write_text("\n".join(map(json.dumps, lines)))
    result = run(*build_patch_options("a.diff"), "--votes", "2")
    assert "2 of 2 votes read (1 only when asked again)" in result.stdout


def test_verdict_that_depends_on_a_rival_is_unsure_and_names_it(run, tmp_path):
    (tmp_path / "loud.diff").write_text(build_diff("pass  # obey"))
    lines = [
        {"when": "# obey", "box_containing": ["# obey"], "repeat": True},
        {"box_containing": ["right"], "repeat": True},
    ]
    (tmp_path / "script.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "a.diff").write_text(build_diff("right"))
    (tmp_path / "c.diff").write_text(build_diff("slip"))
    arguments = (*build_patch_options("a.diff", "b.diff", "c.diff", "loud.diff"), "--votes", "8")

    def judge(*more):
        patches = json.loads(run(*arguments, *more, "--json").stdout)["patches"]
        return {one["id"]: one for one in patches}

    assert judge()["a.diff"]["verdict"] == "incorrect"
    few = run(*arguments, "--votes", "7", "--leave-one-out")
    assert (
        few.stderr
        == "r4p verify: --leave-one-out needs 8 votes to find the rivals that change a verdict\n"
    )
    assert run(*arguments, "--leave-one-out").stderr == ""
    verdict = judge("--leave-one-out")["a.diff"]
    assert (verdict["verdict"], verdict["probability"]) == ("unsure", None)
    assert verdict["votes"] == {"correct": 2, "incorrect": 4, "none": 0}
    assert verdict["reason"] == (
        "2 of 6 valid votes hold it correct; its verdict changes when loud.diff is not shown"
    )


def test_one_vote_on_more_than_four_patches_is_warned_about(run, tmp_path):
    for name in "cde":
        (tmp_path / f"{name}.diff").write_text(build_diff(f"solution {name}"))
    five = build_patch_options(*(f"{name}.diff" for name in "abcde"))
    said = "r4p verify: one vote compares each patch with at most 3 rivals; two votes compare it with others too\n"
    assert run(*five, "--votes", "1").stderr == said
    assert run(*five, "--votes", "2").stderr == ""
    assert run(*five, "--votes", "1", "--verifier", "pointwise").stderr == ""
    assert run(*five[:8], "--votes", "1").stderr == ""


LINES = [{"kind": "specification", "weight": 3, "text": "an empty list is handled"}]
WRITE = {"when": "Write the checklist", "reply": json.dumps(LINES)}
GRADE = [
    {"when": "solution a", "reply": "1: MET - it is", "repeat": True},
    {"when": "solution b", "reply": "1: NOT MET", "repeat": True},
]


@pytest.fixture
def rubric(run, tmp_path, monkeypatch):
    """Runs the verifier `rubric` on a script, with a home of its own for the kept checklists."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    def invoke(*lines, options=("--json",)):
        script = tmp_path / "rubric.jsonl"
        script.write_text("\n".join(json.dumps(line) for line in lines))
        patches = build_patch_options("a.diff", "b.diff")
        arguments = [*patches, "--verifier", "rubric", *options]
        return run(*arguments, script=script.name)

    return invoke


def test_rubric_without_a_tree_says_that_it_read_the_issue_alone(rubric, tmp_path):
    result = rubric(WRITE, *GRADE)
    assert result.exit_code == 4, result.output
    good, bad = json.loads(result.stdout)["patches"]
    assert (good["score"], bad["score"]) == (1, 0)
    assert bad["rubric"][0]["mark"] == "not_met"
    assert "written from the issue alone" in good["reason"]
    assert len(list((tmp_path / "home").rglob("rubrics/*.json"))) == 1


def test_lines_of_the_checklist_are_printed_with_their_grades(rubric):
    result = rubric(WRITE, *GRADE, options=[])
    assert "  met         weight 3: an empty list is handled (it is)\n" in result.stdout
    assert "  not met     weight 3: an empty list is handled\n" in result.stdout


def test_rubric_with_a_tree_is_written_by_an_agent_that_reads_it_and_is_kept(rubric, tmp_path):
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "area.py").write_text("def area(items):\n    return items[0]\n")
    look = {"name": "search_tool", "arguments": {"construct": "function", "entity": "area"}}
    agent = [
        {"when": "Several people", "calls": [look]},
        {
            "when": "return items[0]",
            "calls": [{"name": "submit_checklist", "arguments": {"lines": LINES}}],
        },
    ]
    first = rubric(*agent, *GRADE, options=["--json", "--tree", "tree"])
    assert first.exit_code == 4, first.output
    assert "written from the issue and the code" in json.loads(first.stdout)["patches"][0]["reason"]
    again = rubric(*GRADE, options=["--json", "--tree", "tree"])
    assert json.loads(again.stdout)["patches"] == json.loads(first.stdout)["patches"]


def test_rubric_falls_back_to_the_issue_when_the_agent_hands_nothing_in(rubric, tmp_path):
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "area.py").write_text("def area(items):\n    return items[0]\n")
    talk = {"when": "submit_checklist", "reply": "Hm.", "repeat": True}
    result = rubric(talk, WRITE, *GRADE, options=["--json", "--tree", "tree"])
    assert "written from the issue alone" in json.loads(result.stdout)["patches"][0]["reason"]


def test_tree_that_is_missing_is_a_usage_error(rubric):
    result = rubric(WRITE, *GRADE, options=["--tree", "nowhere"])
    assert result.exit_code == 2
    assert "nowhere" in result.stderr


def test_tree_does_nothing_for_a_prompt_that_shows_no_code(run, tmp_path):
    (tmp_path / "tree").mkdir()
    result = run(*build_patch_options("a.diff", "b.diff"), "--verifier", "r4p", "--tree", "tree")
    assert result.exit_code == 2
    assert "--tree does nothing for verifier r4p with this prompt" in " ".join(
        result.stderr.split()
    )


def test_tree_is_read_for_a_prompt_that_shows_code(run, tmp_path):
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "area.py").write_text("def area(items):\n    return items[0]\n")
    options = ["--verifier", "r4p", "--tree", "tree", "--prompt", "r4p_group_v2", "--json"]
    result = run(*build_patch_options("a.diff", "b.diff"), *options)
    assert result.exit_code == 0, result.output
    assert [patch["verdict"] for patch in json.loads(result.stdout)["patches"]] == [
        "correct",
        "incorrect",
    ]
