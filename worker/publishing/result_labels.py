"""Label pull requests with their verdicts. At most one of the three labels stands on a pull request."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Final
from urllib.parse import quote

from app.comments import VerdictView
from app.db.store.queue.effects import build_label_key
from app.github.api.effect_store import Effect, EffectKey
from app.github.api.publisher import Publisher
from app.github.api_call import Call, Method
from app.github.errors import NotFound
from app.values.identifiers import PullNumber, RepositoryRef
from model.domain import Verdict

LABELS: Final = {
    Verdict.CORRECT: "r4p/correct",
    Verdict.INCORRECT: "r4p/incorrect",
    Verdict.UNSURE: "r4p/unsure",
}
"""The labels by verdict. GitHub creates a label that the repository does not have."""


def label_verdicts(
    publisher: Publisher, repository: RepositoryRef, view: VerdictView, pulls: Iterable[PullNumber]
) -> None:
    """Label those of the open pull requests `pulls` whose judged head is still the present one.

    A label that a person removes comes back only with another verdict.
    """
    open_pulls = frozenset(pulls)
    for row in view.rows:
        if row.pull in open_pulls and not row.moved:
            key = EffectKey(repository, build_label_key(view.group, row.pull))
            _set_label(publisher, key, row.pull, LABELS.get(row.verdict.verdict, ""))


def _list_stale(effect: Effect | None, wanted: str) -> list[str]:
    """List the labels to remove. After a lost answer nobody knows which label stands, so it may be any other."""
    if effect is None:
        return []
    is_known = effect.is_shown(effect.content)
    names = [effect.content] if is_known else list(LABELS.values())
    return [name for name in names if name not in {"", wanted}]


def _set_label(publisher: Publisher, key: EffectKey, pull: PullNumber, wanted: str) -> None:
    """Set the label `wanted`, and remove the one of the last verdict. An empty text stands for no label."""
    effect = publisher.effects.load(key)
    if effect is None and not wanted:
        return
    if effect is not None and effect.is_shown(wanted):
        return
    path = f"/repos/{key.repository.full_name}/issues/{pull}/labels"
    stale = _list_stale(effect, wanted)
    permit = publisher.github.permit_write(key.repository)
    publisher.effects.plan(key, wanted)
    if wanted:
        publisher.effects.check_owner()
        call = Call(Method.POST, path, body={"labels": [wanted]})
        publisher.github.write(key.repository, call, permit)
    for name in stale:
        with suppress(NotFound):
            call = Call(Method.DELETE, f"{path}/{quote(name, safe='')}")
            publisher.effects.check_owner()
            again = publisher.github.permit_write(key.repository)
            publisher.github.write(key.repository, call, again)
    publisher.effects.confirm(key, pull)
