"""One run: the groups of a file judged, those a former run has judged left out."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import closing

from model.evaluation.judge_catalog import Judge
from model.evaluation.judged_group import JudgedGroup
from model.evaluation.labelled_group import LabelledGroup
from model.evaluation.run_file import RunFile


def sample(groups: Iterable[LabelledGroup], limit: int | None = None) -> list[LabelledGroup]:
    """At most `limit` different groups in an order drawn by their content.

    The same file gives the same ones; a smaller limit gives a part of a larger one's, so that runs can be extended,
    and what a run has judged so far stands for the whole file.
    """
    drawn = sorted({group.id: group for group in groups}.items())
    return [group for _, group in drawn[:limit]]


def run(
    groups: Sequence[LabelledGroup],
    judge: Judge,
    file: RunFile | None = None,
    on_group: Callable[[int], None] = lambda _done: None,
    *,
    together: int = 1,
) -> list[JudgedGroup]:
    """Every group judged, up to `together` at a time; each is in `file` as soon as it is judged, whatever is still out.

    They are returned in the order of `groups`. `on_group(done)` is told after each. Raises EngineDown; what was judged
    until then is kept in the file.
    """
    known = {one.key: one for one in file.judged} if file else {}
    keys = [judge.key(group) for group in groups]
    missing = [group for group, key in zip(groups, keys, strict=True) if key not in known]
    found = {key: known[key] for key in keys if key in known}
    if found:
        on_group(len(found))
    with closing(_each(judge, missing, together)) as fresh:
        for one in fresh:
            if file:
                file.add(one)
            found[one.key] = one
            on_group(len(found))
    return [found[key] for key in keys]


def _each(
    judge: Judge, groups: Sequence[LabelledGroup], together: int
) -> Generator[JudgedGroup, None, None]:
    """Each as soon as it is judged; the order is that of the groups only for one at a time."""
    if together == 1:
        yield from map(judge.judge, groups)
        return
    pool = ThreadPoolExecutor(together)
    try:
        yield from _ready([pool.submit(judge.judge, group) for group in groups])
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _ready(awaited: Sequence[Future[JudgedGroup]]) -> Iterator[JudgedGroup]:
    """After a failure nothing more is begun; what was under way comes first, then the failure."""
    failure: BaseException | None = None
    for one in as_completed(awaited):
        if one.cancelled():
            continue
        if error := one.exception():
            failure = failure or error
            for other in awaited:
                other.cancel()
        else:
            yield one.result()
    if failure:
        raise failure
