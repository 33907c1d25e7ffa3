"""The words that several conversations share (pure)."""

from collections.abc import Iterable

from app.comments.views import Finding
from app.jobs.waits import WaitsFor
from app.policy.alternative_policy import WhyNot
from app.policy.rival_links import LinkStrength
from app.values.quoting import paragraph
from model.domain import Coverage, PatchVerdict, Verdict

CHECK_NAME = "r4p/verdict"

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
    WaitsFor.LIMIT: "GitHub's limits are used up",
    WaitsFor.KEY: "GitHub refuses the bot's key, which its operator has to mend",
    WaitsFor.ENGINE: "the language model can't be reached",
}

WHY_NOT = {
    WhyNot.NO_AGENT: "there is no agent, because the bot has no language model",
    WhyNot.NO_BASE: "the code that it would change could not be read",
    WhyNot.BUDGET: "what this repository may spend on alternatives today is spent",
    WhyNot.ENOUGH: "enough attempts were made at this text on this commit, or at this issue today",
    WhyNot.NO_TREE: "the copy of the code was gone before an agent came to it",
    WhyNot.CRASHED: "the agent's process ended before its work did",
    WhyNot.NOBODY: "no agent came to it in time",
    WhyNot.SAME: "the agent made the same edit as a rival",
    WhyNot.QUOTES_HINT: "the agent's patch repeats the hint it was given, which nobody who judges may see",
    WhyNot.ROUNDS: "the agent took more steps than it may",
    WhyNot.TOKENS: "the agent ran out of room to think",
    WhyNot.MALFORMED: "the agent's replies could not be read",
    WhyNot.TIMEOUT: "the agent took longer than it may",
    WhyNot.ENGINE: "the agent's language model failed",
    WhyNot.NONE_KEPT: "none of the agent's patches could be kept",
}

FINDINGS = {
    Finding.DELIMITER: "text that imitates the prompt's own tags",
    Finding.SPECIAL_TOKEN: "a chat model's control markers",
    Finding.BOX: "an answer written for a model",
    Finding.LOOKALIKE: "letters of another script that look Latin",
    Finding.INVISIBLE: "characters that readers can't see",
    Finding.ESCAPE: "hand-written escapes",
    Finding.HTML_COMMENT: "hidden HTML comments",
}


def agreement(verdict: PatchVerdict) -> str:
    """How many of the votes that could be read say the same as the verdict; a split shows both sides."""
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


def probability(value: float | None) -> str:
    """As a percentage, never rounded up to a certainty."""
    if value is None:
        return "–"
    return f"{min(max(round(value * 100), 1), 99)} %"


def probably(verdict: PatchVerdict, history: int | None) -> str:
    """What is known of the chance that the patch is correct; `history` is that of the whole verdict."""
    if verdict.probability is None:
        return f"{'not enough history' if history is None else 'no opinion'} for a probability"
    return f"probability correct: {probability(verdict.probability)}"


def why_unsure(
    verdicts: Iterable[PatchVerdict], *, has_model: bool, history: int | None
) -> str | None:
    """Why a comparison claims nothing of some; None where none is unsure, or where votes or a probability tell."""
    if has_model or history is not None:
        return None
    if all(one.verdict is not Verdict.UNSURE for one in verdicts):
        return None
    return "Unsure: opinions this weak were too often wrong on patches whose truth is known, so nothing is claimed."


def coverage(seen: Coverage, *, has_model: bool = True) -> str:
    """How much of a patch was read by a model, or compared without one."""
    done = "read" if has_model else "compared"
    if seen.files == 1:
        return f"its one file was {'' if seen.files_seen else 'not '}{done}"
    return f"{seen.files_seen} of {seen.files} files were {done}"


def why_not_judged(verdict: PatchVerdict) -> str:
    """The reason alone, for a sentence that has said already that it was not judged."""
    return verdict.reason.removeprefix(f"{VERDICTS[Verdict.NOT_JUDGED]}: ")


def quotation(text: str, limit: int) -> str:
    """Untrusted prose as a quotation."""
    return "\n".join(f"> {line}".rstrip() for line in paragraph(text, limit).split("\n"))


def one_line(text: str, limit: int) -> str:
    """Untrusted prose on one line, with `code` kept as code; not for table cells."""
    return paragraph(" ".join(text.split()), limit)


def listed(names: Iterable[object], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, end = map(str, names)
    return f"{', '.join(most)} {last} {end}" if most else end


def pulls(count: int) -> str:
    """A number of pull requests."""
    return "1 pull request" if count == 1 else f"{count} pull requests"
