"""Phrases that several texts of the bot share: votes, probabilities, coverage and reasons (pure)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from app.comments.views import Finding
from app.jobs.waits import WaitsFor
from app.policy.alternative_policy import RefusalReason
from app.policy.rival_links import LinkStrength
from app.values.quoting import quote_paragraph, quote_phrase
from model.domain import Coverage, PatchVerdict, Verdict
from model.patches.unread_parts import describe_unread

CHECK_NAME = "r4p/verdict"
_NAME: Final = 200
"""Most characters of an untrusted name."""

VERDICTS = {
    Verdict.CORRECT: "Correct",
    Verdict.INCORRECT: "Incorrect",
    Verdict.UNSURE: "Unsure",
    Verdict.NOT_JUDGED: "Not judged",
}

LINKS = {
    LinkStrength.ADDED: "added by command",
    LinkStrength.CLOSING: "closes it",
    LinkStrength.KEYWORD: "keyword, other base",
    LinkStrength.CONNECTED: "connected",
    LinkStrength.CROSS_REFERENCE: "refers to it",
}

WAITS = {
    WaitsFor.GITHUB: "GitHub doesn't answer",
    WaitsFor.GIT: "git can't reach this repository on GitHub",
    WaitsFor.LIMIT: "GitHub's rate limits are used up",
    WaitsFor.KEY: "GitHub refuses the bot's key, and the operator must fix it",
    WaitsFor.ENGINE: "the language model does not answer",
}

REFUSALS = {
    RefusalReason.NO_AGENT: "the bot has no language model that writes, so it has no agent",
    RefusalReason.NO_BASE: "the bot could not read the code",
    RefusalReason.BUDGET: "this repository's budget for alternatives is used up for today",
    RefusalReason.ENOUGH: "the agent has already made enough attempts at this text on this commit, or at this issue today",
    RefusalReason.NO_TREE: "the copy of the code was deleted before an agent started",
    RefusalReason.CRASHED: "the agent's process ended too early",
    RefusalReason.NOBODY: "no agent was free in time",
    RefusalReason.SAME: "the agent made the same edit as a rival",
    RefusalReason.QUOTES_HINT: "the agent's patch repeats its feedback, which the verifier must not see",
    RefusalReason.ROUNDS: "the agent used up its steps",
    RefusalReason.TOKENS: "the agent used up its tokens",
    RefusalReason.MALFORMED: "the agent's replies were unreadable",
    RefusalReason.TIMEOUT: "the agent used up its time",
    RefusalReason.ENGINE: "the agent's language model failed",
    RefusalReason.NONE_KEPT: "none of the agent's patches was usable",
}

FINDINGS = {
    Finding.DELIMITER: "text that imitates tags of the prompt",
    Finding.SPECIAL_TOKEN: "a chat model's control markers",
    Finding.BOX: "an answer written for a model",
    Finding.LOOKALIKE: "letters of other scripts that look Latin",
    Finding.INVISIBLE: "invisible characters",
    Finding.ESCAPE: "hand-written escapes",
    Finding.HTML_COMMENT: "hidden HTML comments",
}


def format_agreement(verdict: PatchVerdict) -> str:
    """Return how many readable votes agree with a patch's verdict, such as `3 of 4`.

    For an unsure verdict it shows both sides, such as `2 : 2`. Without readable votes it is a dash.
    """
    votes = verdict.votes
    if not votes.valid:
        return "–"
    match verdict.verdict:
        case Verdict.CORRECT:
            return f"{votes.correct} of {votes.valid}"
        case Verdict.INCORRECT:
            return f"{votes.incorrect} of {votes.valid}"
        case _:
            return f"{votes.correct} : {votes.incorrect}"


def format_percent(value: float | None) -> str:
    """Return a probability as a percentage between `1 %` and `99 %`; a dash for None."""
    if value is None:
        return "–"
    return f"{min(max(round(value * 100), 1), 99)} %"


def format_probability(
    verdict: PatchVerdict, history: int | None, *, is_prior: bool = False
) -> str:
    """Return a phrase with the probability that a patch is correct, or with the reason why there is none.

    `history` is the number of earlier issues behind the probabilities; None: too few. With `is_prior`, these are issues
    of benchmarks.
    """
    if verdict.probability is None:
        return f"{'not enough history' if history is None else 'no opinion'} for a probability"
    source = "" if history is None else f", from the outcomes of {history:,} earlier issues"
    origin = " (packaged prior)" if is_prior else source
    return f"probability correct: {format_percent(verdict.probability)}{origin}"


def explain_unsure(
    verdicts: Iterable[PatchVerdict], *, has_model: bool, history: int | None
) -> str | None:
    """Return a sentence that explains why the consensus verifier is unsure; None if no explanation is needed.

    None is needed when no wholly read patch is unsure. A language model's votes (`has_model`) or a probability (`history` is not
    None) explain it already.
    """
    if has_model or history is not None:
        return None
    whole = [patch for patch in verdicts if patch.coverage.is_whole]
    if all(patch.verdict is not Verdict.UNSURE for patch in whole):
        return None
    return "Unsure: the score is too close to the middle. Such scores were often wrong for patches with known outcomes."


def describe_coverage(
    seen: Coverage, *, has_model: bool = True, phrase: Callable[[str, int], str] = quote_phrase
) -> str:
    """Return a phrase that says how many files of a patch were seen, such as `2 of 3 files were read, not read: …`.

    With `has_model`, a language model read the files. Without it, the consensus verifier compared them. `phrase` cuts an
    untrusted text and makes it safe where it is shown.
    """
    action = "read" if has_model else "compared"
    unread = f", {phrase(describe_unread(seen), 400)}" if seen.unread else ""
    if seen.files == 1:
        return f"its one file was {'' if seen.files_seen else 'not '}{action}{unread}"
    return f"{seen.files_seen} of {seen.files} files were {action}{unread}"


def explain_not_judged(verdict: PatchVerdict) -> str:
    """Return the reason why a patch was not judged, without the leading words "Not judged:"."""
    return verdict.reason.removeprefix(f"{VERDICTS[Verdict.NOT_JUDGED]}: ")


def quote_block(text: str, limit: int) -> str:
    """Return untrusted prose as a Markdown quotation, cut to `limit` characters."""
    return "\n".join(f"> {line}".rstrip() for line in quote_paragraph(text, limit).split("\n"))


def quote_line(text: str, limit: int) -> str:
    """Return untrusted prose as one line of Markdown, cut to `limit` characters.

    Text in backticks stays code, so the line does not fit into a table cell.
    """
    return quote_paragraph(" ".join(text.split()), limit)


def quote_name(name: str) -> str:
    """Return an untrusted name, such as a path or a function, as code in one line of Markdown."""
    text = name.replace("`", "'")
    return quote_line(f"`{text}`", _NAME)


@dataclass(frozen=True, slots=True)
class TextStyle:
    """The functions that make text ready for the place where a sentence is shown."""

    line: Callable[[str, int], str]
    """Returns untrusted prose as one line, cut to a number of characters. Markdown keeps text in backticks as code."""
    phrase: Callable[[str, int], str]
    """Returns untrusted text as one line, cut to a number of characters."""
    name: Callable[[str], str]
    """Returns an untrusted name, such as a path or the id of a test."""
    strong: Callable[[str], str]
    """Returns our own words with emphasis, where the style has any."""


def _emphasize(text: str) -> str:
    return f"**{text}**"


def _cut(text: str, limit: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def _cut_name(name: str) -> str:
    return _cut(name, _NAME)


MARKDOWN: Final = TextStyle(quote_line, quote_phrase, quote_name, _emphasize)
PLAIN: Final = TextStyle(_cut, _cut, _cut_name, str)
"""Escapes nothing. The template that shows the text must."""


def join_names(names: Iterable[object], last: str = "and") -> str:
    """Join at least one name with commas and, before the last name, `last`: `a`, `a and b`, `a, b and c`."""
    *most, end = map(str, names)
    return f"{', '.join(most)} {last} {end}" if most else end


def count_pulls(count: int) -> str:
    """Return a number with its noun: `1 pull request`, `2 pull requests`."""
    return "1 pull request" if count == 1 else f"{count} pull requests"
