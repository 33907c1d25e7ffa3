"""How the bot judged a group: the source of its probabilities, and the folded method with its cost (pure)."""

from collections.abc import Iterator

from app.comments.evidence_text import summarize_damage
from app.comments.phrases import MARKDOWN, PLAIN, TextStyle, explain_unsure
from app.comments.views import GroupGrounds, VerdictView
from app.values.quoting import quote_phrase
from model.coverage import ShownCode


def write_sources(view: VerdictView) -> str:
    """Return what a reader needs beside the table: where the probabilities come from, and why consensus is unsure."""
    grounds = view.grounds
    history = _describe_history(grounds) if grounds.has_probability else None
    return " ".join(filter(None, [history, _explain_unsure(grounds)]))


def list_sources(grounds: GroupGrounds) -> Iterator[str]:
    """Yield the same sentences for a page, in plain text, and those of the method about missing probabilities and code."""
    if not grounds.is_judged:
        return
    yield _describe_history(grounds)
    if unsure := _explain_unsure(grounds):
        yield unsure
    if grounds.code is not None:
        yield _describe_code(grounds.code, PLAIN)


def _explain_unsure(grounds: GroupGrounds) -> str | None:
    return explain_unsure(grounds.verdicts, has_model=grounds.has_model, history=grounds.history)


def write_method(view: VerdictView) -> str:
    """Return the folded description of how the bot judged and what it cost; empty when it judged no patch."""
    grounds = view.grounds
    if not grounds.is_judged:
        return ""
    history = "" if grounds.has_probability else f" {_describe_history(grounds)}"
    reader = "by a language model" if view.has_model else "without a language model"
    return (
        f"<details>\n<summary>How the bot judged: {reader}</summary>\n\n"
        f"{_describe_judging(view)}{history} {_describe_cost(view)}.\n\n</details>"
    )


def _describe_judging(view: VerdictView) -> str:
    if not view.has_model:
        return f"{_describe_comparison(view)}."
    together = "side by side" if view.parts == 1 else f"in {view.parts} overlapping groups"
    if len(view.verdicts) == 1:
        together = "alone, because there is no rival"
    judged = f"Judged by `{_format_code(view.verifier)}` {together}{_describe_votes(view)}"
    code = "" if view.code is None else f" {_describe_code(view.code, MARKDOWN)}"
    return f"{judged}. {_describe_judge(view)}.{code}"


def _describe_votes(view: VerdictView) -> str:
    if not view.asked:
        return ""
    votes = "1 vote" if view.asked == 1 else f"{view.asked} votes, each in another order"
    remarks = [f"{unread} unreadable"] if (unread := view.asked - view.valid) else []
    remarks += [f"{view.forced} answered only after a second request"] if view.forced else []
    return f": {votes} ({', '.join(remarks)})" if remarks else f": {votes}"


def _describe_comparison(view: VerdictView) -> str:
    return (
        f"No language model read the patches: `{_format_code(view.verifier)}` compared features of the group "
        "(how alike its patches are, their size, what of the issue they touch) "
        f"by fitted rules `{_format_fingerprint(view)}`"
    )


def _describe_judge(view: VerdictView) -> str:
    fingerprint = f"`{_format_fingerprint(view)}`"
    prompt = f"`{view.prompt}` ({fingerprint})" if view.prompt else fingerprint
    engine = quote_phrase(view.engine.name, 60)
    return f"Model `{_format_code(view.engine.model)}` on {engine}, prompt {prompt}"


def _describe_code(code: ShownCode, style: TextStyle) -> str:
    """Say which code of the base the model saw."""
    if code.missing:
        reason = style.phrase(code.missing, 200)
        return f"The model saw no code of the base, because {reason}."
    count = code.definitions
    noun = "definitions" if count > 1 else "definition"
    return f"The model saw {count or 'no'} {noun} of the base that the patches touch."


def _format_fingerprint(view: VerdictView) -> str:
    return _format_code(view.engine.prompt_fingerprint)[:12]


def _describe_history(grounds: GroupGrounds) -> str:
    if grounds.history is None:
        return "No probabilities yet: not enough history."
    if all(patch.probability is None for patch in grounds.verdicts):
        if any(any(summarize_damage(patch.evidence)) for patch in grounds.verdicts):
            return "No probabilities: tests or CI speak against what the votes say, or no patch was judged in full."
        return "No probabilities: no patch was judged in full."
    if grounds.is_packaged_prior:
        return f"Probabilities are a packaged prior from {grounds.history} issues of benchmarks, not from outcomes here."
    return f"Probabilities come from the outcomes of {grounds.history} earlier issues."


def _format_code(text: str) -> str:
    return " ".join(text.replace("`", "'").split())[:100]


def _describe_cost(view: VerdictView) -> str:
    seconds = f"{view.total_seconds:.0f} s" if view.total_seconds >= 1 else "Less than a second"
    tokens = view.tokens.prompt + view.tokens.completion
    return f"{seconds}, {tokens:,} tokens" if tokens else seconds
