"""One run: the groups of a file judged in order, those a former run has judged left out."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from model.evaluation.groups import LabelledGroup
from model.evaluation.judged import JudgedGroup
from model.evaluation.judges import Judge
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
    """Every group judged, in order, up to `together` at a time; each is in `file` as soon as those before it are.

    `on_group(done)` is told after each. Raises EngineDown; what was judged until then is kept in the file.
    """
    known = {one.key: one for one in file.judged} if file else {}
    fresh = _each(judge, [group for group in groups if judge.key(group) not in known], together)
    judged = []
    for group in groups:
        one = known.get(judge.key(group))
        if one is None:
            one = next(fresh)
            if file:
                file.add(one)
        judged.append(one)
        on_group(len(judged))
    return judged


def _each(judge: Judge, groups: Sequence[LabelledGroup], together: int) -> Iterator[JudgedGroup]:
    if together == 1:
        yield from map(judge.judge, groups)
        return
    pool = ThreadPoolExecutor(together)
    try:
        yield from pool.map(judge.judge, groups)
    finally:
        # whoever waits for the last ones hears of a dead engine at once
        pool.shutdown(wait=True, cancel_futures=True)
