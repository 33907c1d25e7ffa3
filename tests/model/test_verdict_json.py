"""The published verdict is valid by its schema and can be read back."""

import json
from dataclasses import replace
from importlib.resources import files

import jsonschema_rs
import pytest

from model.coverage import UnreadPart, UnreadReason
from model.domain import (
    ChangedPlace,
    CiResult,
    CiState,
    Coverage,
    DifferenceKind,
    EngineInfo,
    GradedLine,
    GroupVerdict,
    ObservedEvidence,
    PatchId,
    PatchVerdict,
    RegressionResult,
    ReproductionResult,
    RivalDifference,
    RubricKind,
    RubricLine,
    RubricMark,
    Tokens,
    Verdict,
    VoteCount,
)
from model.verdict_json import Proposer, Subject, read_differences, read_patches, to_json
from tests.model.builders import build_vote

VERDICT = GroupVerdict(
    patches=(
        PatchVerdict(
            PatchId("#12"), Verdict.CORRECT, VoteCount(2, 1), "It works.", Coverage(2, 2), 0.75
        ),
        PatchVerdict(
            PatchId("#13"), Verdict.NOT_JUDGED, VoteCount(), "Not judged: empty", Coverage(0, 0)
        ),
    ),
    engine=EngineInfo("scripted", "script", "0123456789ab"),
    votes=(build_vote("ab..", "a", "secret reasoning"), build_vote("ab..", None)),
    asked=3,
    partition=((PatchId("#12"),),),
    tokens=Tokens(10, 4, 2),
    engine_seconds=1.23456,
    total_seconds=1.5,
)
SUBJECT = Subject("It breaks", "g1", "octo/repo", 7, {PatchId("#12"): "a" * 40})


def test_document_has_the_published_form():
    assert to_json(VERDICT, SUBJECT) == {
        "schema": "r4p.verdict/1",
        "issue": {"repository": "octo/repo", "number": 7, "title": "It breaks"},
        "group": {"id": "g1", "size": 2, "partition": [["#12"]]},
        "patches": [
            {
                "id": "#12",
                "verdict": "correct",
                "probability": 0.75,
                "votes": {"correct": 2, "incorrect": 1, "none": 0},
                "reason": "It works.",
                "coverage": {"files": 2, "files_seen": 2},
                "head_sha": "a" * 40,
            },
            {
                "id": "#13",
                "verdict": "not_judged",
                "probability": None,
                "votes": {"correct": 0, "incorrect": 0, "none": 0},
                "reason": "Not judged: empty",
                "coverage": {"files": 0, "files_seen": 0},
                "head_sha": None,
            },
        ],
        "engine": {"name": "scripted", "model": "script", "prompt_fingerprint": "0123456789ab"},
        "votes": {"asked": 3, "valid": 1},
        "tokens": {"prompt": 10, "cached": 4, "completion": 2},
        "seconds": {"total": 1.5, "engine": 1.235, "overhead": 0.265},
    }


def test_document_counts_skipped_votes(schema):
    document = to_json(replace(VERDICT, spared=2), SUBJECT)
    assert document["votes"] == {"asked": 3, "valid": 1, "spared": 2}
    schema.validate(document)


def test_document_names_the_proposer_of_our_patches(schema):
    proposer = Proposer("mini-se", "Coder-7B", 12, "b" * 40)
    document = to_json(VERDICT, replace(SUBJECT, proposers={PatchId("#13"): proposer}))
    plain, marked = document["patches"]
    assert "proposed_by" not in plain
    assert marked["proposed_by"] == {
        "agent": "mini-se",
        "model": "Coder-7B",
        "steps": 12,
        "base_sha": "b" * 40,
    }
    schema.validate(document)
    assert read_patches(document) == VERDICT.patches


@pytest.mark.parametrize(
    "evidence",
    [
        ObservedEvidence(
            RegressionResult(812, 3, ("tests/test_area.py::test_area",), 2),
            reproduction=ReproductionResult(2, 1),
            ci=CiResult(CiState.FAILED, 12, 3, ("lint",)),
        ),
        ObservedEvidence(unknown="the tests were ended after 300 s"),
        ObservedEvidence(),
    ],
    ids=["all known", "tests unknown", "nothing known"],
)
def test_document_shows_observed_evidence_and_leaves_out_what_nobody_knows(schema, evidence):
    first, second = VERDICT.patches
    verdict = replace(VERDICT, patches=(replace(first, evidence=evidence), second))
    document = to_json(verdict, SUBJECT)
    schema.validate(document)
    shown = document["patches"][0]["evidence"]
    assert None not in shown.values()
    assert "evidence" not in document["patches"][1]
    assert read_patches(json.loads(json.dumps(document))) == verdict.patches


def test_document_carries_the_graded_rubric_and_is_read_back(schema):
    rubric = (
        GradedLine(RubricLine(RubricKind.SPECIFICATION, 3, "parse keeps zeros"), RubricMark.MET),
        GradedLine(
            RubricLine(RubricKind.INTEGRITY, 1, "no test is deleted"),
            RubricMark.CANNOT_TELL,
            "the diff shows no test",
        ),
    )
    graded = replace(VERDICT, patches=(replace(VERDICT.patches[0], rubric=rubric),))
    document = to_json(graded, SUBJECT)
    assert document["patches"][0]["rubric"][1] == {
        "line": {"kind": "integrity", "weight": 1, "text": "no test is deleted"},
        "mark": "cannot_tell",
        "note": "the diff shows no test",
    }
    schema.validate(document)
    assert read_patches(json.loads(json.dumps(document))) == graded.patches


@pytest.fixture(scope="module")
def schema():
    text = (files("model") / "verdict.schema.json").read_text()
    return jsonschema_rs.validator_for(json.loads(text))


def test_document_is_valid_by_the_published_schema(schema):
    for subject in (SUBJECT, Subject("t", "g")):
        assert list(schema.iter_errors(to_json(VERDICT, subject))) == []


def test_document_says_what_tells_the_rivals_apart_and_what_was_not_read(schema):
    copies = RivalDifference(DifferenceKind.SAME_EDIT, (PatchId("#12"), PatchId("#13")))
    places = (ChangedPlace("a.py", "run", is_new=True), ChangedPlace("b.py"))
    only = RivalDifference(DifferenceKind.ONLY, (PatchId("#12"),), places, ("escape",), True, 90)
    unread = tuple(UnreadPart(f"{n}\0.so", UnreadReason.BINARY) for n in range(60))
    first = replace(VERDICT.patches[0], coverage=Coverage(61, 1, unread))
    verdict = replace(VERDICT, patches=(first,), differences=(copies, only))
    document = to_json(verdict, SUBJECT)
    schema.validate(document)
    assert document["differences"] == [
        {"kind": "same_edit", "patches": ["#12", "#13"]},
        {
            "kind": "only",
            "patches": ["#12"],
            "places": [{"path": "a.py", "function": "run", "is_new": True}, {"path": "b.py"}],
            "calls": ["escape"],
            "touches_tests": True,
            "lines": 90,
        },
    ]
    assert read_differences(document) == (copies, only)
    coverage = read_patches(document)[0].coverage
    assert (coverage.files, len(coverage.unread)) == (61, 50)
    assert coverage.unread[0] == UnreadPart("0\ufffd.so", UnreadReason.BINARY)


@pytest.mark.parametrize("key", ["schema", "issue", "patches", "seconds"])
def test_schema_requires_every_field(schema, key):
    document = to_json(VERDICT, SUBJECT)
    del document[key]
    assert not schema.is_valid(document)


def test_schema_refuses_unknown_verdicts_and_fields(schema):
    document = to_json(VERDICT, SUBJECT)
    document["patches"][0]["verdict"] = "maybe"
    assert not schema.is_valid(document)
    assert not schema.is_valid(to_json(VERDICT, SUBJECT) | {"extra": 1})


def test_patches_are_parsed_back():
    assert read_patches(to_json(VERDICT, SUBJECT)) == VERDICT.patches


def test_other_schema_is_refused():
    with pytest.raises(ValueError, match="verdict/2"):
        read_patches({"schema": "r4p.verdict/2", "patches": []})
