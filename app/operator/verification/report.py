"""The result of `r4p verify` for GitHub Actions: a job summary in Markdown, and the outputs of a step."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.values.quoting import quote_paragraph, quote_phrase
from model.commands.exit_codes import Exit, stop
from model.commands.verify import choose_exit_code
from model.commands.verify_options import VERIFY, VerifyResult
from model.domain import GroupVerdict, PatchId, PatchVerdict, Verdict
from model.rivals.difference_text import write_sentences
from model.voting.verdict_summary import sort_by_verdict, summarise_verdicts

_TITLE: Final = 200
_NAME: Final = 120
_REASON: Final = 600
_RESULTS: Final = {Exit.OK: "correct", Exit.NONE_CORRECT: "none_correct", Exit.UNSURE: "unsure"}
"""The output `result` by exit code."""
_NOTHING: Final = "nothing_judged"


class NothingToJudge(Exception):
    """There are fewer than two pull requests to compare, or no single issue. The message says which."""


@dataclass(frozen=True, slots=True)
class ActionFiles:
    """The files that GitHub Actions reads after a step; None: the user wants no such file."""

    summary: Path | None
    outputs: Path | None

    def check(self) -> None:
        """End the process with exit code 2 if a file cannot be written, before any work begins."""
        self._append("", "")

    def write(self, result: VerifyResult) -> None:
        """Append the verdicts to both files."""
        winners = [_name_winner(patch.id) for patch in _list_correct(result)]
        outputs = _write_outputs(json.dumps(result.document), winners, _name_result(result.verdict))
        self._append(write_summary(result), outputs)

    def write_nothing(self, reason: str) -> None:
        """Append to both files that nothing was judged, with the reason."""
        summary = f"### R4P: nothing judged\n\n{quote_phrase(reason, _REASON)}\n"
        self._append(summary, _write_outputs("", [], _NOTHING))

    def _append(self, summary: str, outputs: str) -> None:
        for option, path, text in (
            ("--summary", self.summary, summary),
            ("--outputs", self.outputs, outputs),
        ):
            if path is None:
                continue
            try:
                with path.open("a", encoding="utf-8") as file:
                    file.write(text)
            except OSError as error:
                stop(VERIFY, Exit.USAGE, f"{option} {path} can't be written: {error.strerror}")


def _write_outputs(document: str, winners: list[int | str], result: str) -> str:
    """Return the outputs in the form of `$GITHUB_OUTPUT`. JSON without indentation holds no line end."""
    return f"verdict={document}\nwinners={json.dumps(winners)}\nresult={result}\n"


def _name_result(verdict: GroupVerdict) -> str:
    if all(patch.verdict is Verdict.NOT_JUDGED for patch in verdict.patches):
        return _NOTHING
    return _RESULTS[choose_exit_code(verdict)]


def _list_correct(result: VerifyResult) -> list[PatchVerdict]:
    return [patch for patch in result.verdict.patches if patch.verdict is Verdict.CORRECT]


def _name_winner(patch: PatchId) -> int | str:
    """Return the number of a pull request; else the name of a patch file."""
    return int(patch[1:]) if patch.startswith("#") and patch[1:].isdecimal() else patch


def write_summary(result: VerifyResult) -> str:
    """Return the verdicts as Markdown for a job summary. Text of strangers shows as plain text."""
    url = result.group.repository_url
    patches = sort_by_verdict(result.verdict.patches)
    names = {patch.id: _link(patch.id, url) for patch in patches}
    headline = summarise_verdicts(
        {names[patch.id]: patch.verdict for patch in patches}, f"{len(patches)} patches"
    )
    facts = write_sentences(
        result.verdict.differences, lambda name: names.get(PatchId(name), name), _quote_code
    )
    parts = (
        [_write_title(result)],
        [f"**{headline}**"],
        [_write_table(patches, names, has_votes=result.verdict.asked > 0)],
        _list_items(facts),
        _list_items(
            f"{names[patch.id]}: {quote_paragraph(' '.join(patch.reason.split()), _REASON)}"
            for patch in patches
        ),
        _list_items(f"Left out: {note}" for note in result.group.notes),
        [_write_method(result)],
    )
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def _list_items(lines: Iterable[str]) -> list[str]:
    return [f"- {line}" for line in lines]


def _write_title(result: VerifyResult) -> str:
    subject, url = result.group.subject, result.group.repository_url
    title = quote_phrase(subject.title, _TITLE)
    if url is None:
        return f"### R4P: {title}"
    return f"### R4P: [#{subject.number}]({url}/issues/{subject.number}) {title}"


def _write_table(
    patches: Sequence[PatchVerdict], names: dict[PatchId, str], *, has_votes: bool
) -> str:
    votes = ["votes for", "against"] if has_votes else []
    head = ["patch", "verdict", "probability", "score", *votes, "files seen"]
    rows = [f"| {' | '.join(head)} |", f"| {' | '.join(['---'] * len(head))} |"]
    for patch in patches:
        verdict = patch.verdict.value.replace("_", " ")
        cells = (
            names[patch.id],
            f"**{verdict}**" if patch.verdict is Verdict.CORRECT else verdict,
            _format(patch.probability),
            _format(patch.score),
            *(patch.votes.correct, patch.votes.incorrect)[: len(votes)],
            f"{patch.coverage.files_seen} of {patch.coverage.files}",
        )
        rows.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(rows)


def _write_method(result: VerifyResult) -> str:
    model = quote_phrase(result.verdict.engine.model, _NAME)
    verifier = quote_phrase(result.verifier, _NAME)
    if result.verdict.asked:
        read = f"{result.verdict.valid} of {result.verdict.asked} votes were readable"
        method = f"Verifier {verifier} with the model {model}; {read}."
    else:
        method = f"Verifier {verifier}."
    has_probability = any(p.probability is not None for p in result.verdict.patches)
    if result.calibration is None or not has_probability:
        return method
    kind = "benchmark issues (packaged prior)" if result.calibration.origin else "earlier issues"
    return f"{method} Probabilities rest on the outcomes of {result.calibration.issues:,} {kind}."


def _link(patch: PatchId, url: str | None) -> str:
    if url is None:
        return quote_phrase(patch, _NAME)
    return f"[{patch}]({url}/pull/{patch.removeprefix('#')})"


def _quote_code(name: str) -> str:
    text = name.replace("`", "'")
    return quote_paragraph(f"`{' '.join(text.split())}`", _NAME)


def _format(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
