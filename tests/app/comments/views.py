"""A verdict to talk about, with defaults for all but what a test is about."""

from dataclasses import replace

import cmarkgfm
from cmarkgfm.cmark import Options

from app.comments import VerdictRow, VerdictView
from app.policy.rival_links import LinkStrength
from app.settings.repo_config import Mode
from model.domain import Coverage, EngineInfo, PatchVerdict, Tokens, Verdict, VoteCount

DOCUMENT = {"schema": "r4p.verdict/1", "patches": []}


def build_row(number, verdict, votes, **changes):
    patch = PatchVerdict(
        id=f"#{number}",
        verdict=verdict,
        votes=votes,
        reason=changes.pop("reason", "It handles `[]` before the loop."),
        coverage=changes.pop("coverage", Coverage(2, 2)),
        probability=changes.pop("probability", None),
    )
    row = VerdictRow(number, f"{number:x}" * 20, patch, LinkStrength.CLOSING)
    return replace(row, **changes)


CORRECT = build_row(12, Verdict.CORRECT, VoteCount(4, 0))
INCORRECT = build_row(
    15, Verdict.INCORRECT, VoteCount(1, 3), reason="It returns early, so @mona's case #7 fails."
)
UNSURE = build_row(16, Verdict.UNSURE, VoteCount(2, 2))
NOT_JUDGED = build_row(
    18,
    Verdict.NOT_JUDGED,
    VoteCount(),
    reason="the diff is longer than the model can read",
    coverage=Coverage(40, 0),
)


def view(*rows, **changes):
    return replace(
        VerdictView(
            group=17,
            mode=Mode.ADVISORY,
            rows=rows or (CORRECT, INCORRECT),
            verifier="r4p",
            engine=EngineInfo("vLLM", "R4P-32B", "9f3c1a77aa52bb10"),
            asked=4,
            valid=4,
            forced=0,
            parts=1,
            tokens=Tokens(prompt=24_000, cached=18_000, completion=6_100),
            total_seconds=41.7,
            document=DOCUMENT,
        ),
        **changes,
    )


def render(markdown):
    return cmarkgfm.github_flavored_markdown_to_html(markdown, options=Options.CMARK_OPT_UNSAFE)
