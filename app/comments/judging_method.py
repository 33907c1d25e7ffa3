"""How the bot judged a group: the source of its probabilities, and the folded method with its cost (pure)."""

from app.comments.evidence_text import summarize_damage
from app.comments.phrases import explain_unsure
from app.comments.views import VerdictView
from app.values.quoting import quote_phrase
from model.domain import Verdict


def write_sources(view: VerdictView) -> str:
    """Return what a reader needs beside the table: where the probabilities come from, and why consensus is unsure."""
    has_probability = any(patch.probability is not None for patch in view.verdicts)
    unsure = explain_unsure(view.verdicts, has_model=view.has_model, history=view.history)
    return " ".join(filter(None, [_describe_history(view) if has_probability else "", unsure]))


def write_method(view: VerdictView) -> str:
    """Return the folded description of how the bot judged and what it cost; empty when it judged no patch."""
    if all(patch.verdict is Verdict.NOT_JUDGED for patch in view.verdicts):
        return ""
    has_probability = any(patch.probability is not None for patch in view.verdicts)
    history = "" if has_probability else f" {_describe_history(view)}"
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
    return f"{judged}. {_describe_judge(view)}.{_describe_code(view)}"


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
    return (
        f"Model `{_format_code(view.engine.model)}` on {quote_phrase(view.engine.name, 60)}, "
        f"prompt `{_format_fingerprint(view)}`"
    )


def _describe_code(view: VerdictView) -> str:
    """Say which code of the base the model saw, with a space before it; empty when its prompt shows none."""
    if view.code is None:
        return ""
    if view.code.missing:
        reason = quote_phrase(view.code.missing, 200)
        return f" The model saw no code of the base, because {reason}."
    count = view.code.definitions
    noun = "definitions" if count > 1 else "definition"
    return f" The model saw {count or 'no'} {noun} of the base that the patches touch."


def _format_fingerprint(view: VerdictView) -> str:
    return _format_code(view.engine.prompt_fingerprint)[:12]


def _describe_history(view: VerdictView) -> str:
    if view.history is None:
        return "No probabilities yet: not enough history."
    if all(patch.probability is None for patch in view.verdicts):
        if any(any(summarize_damage(patch.evidence)) for patch in view.verdicts):
            return "No probabilities: tests or CI speak against what the votes say, or no patch was judged in full."
        return "No probabilities: no patch was judged in full."
    if view.is_packaged_prior:
        return f"Probabilities are a packaged prior from {view.history} issues of benchmarks, not from outcomes here."
    return f"Probabilities come from the outcomes of {view.history} earlier issues."


def _format_code(text: str) -> str:
    return " ".join(text.replace("`", "'").split())[:100]


def _describe_cost(view: VerdictView) -> str:
    seconds = f"{view.total_seconds:.0f} s" if view.total_seconds >= 1 else "Less than a second"
    tokens = view.tokens.prompt + view.tokens.completion
    return f"{seconds}, {tokens:,} tokens" if tokens else seconds
