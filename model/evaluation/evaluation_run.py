"""Judge the groups of one file, and skip groups that an earlier run has judged."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import closing

from model.evaluation.judge_catalog import Judge
from model.evaluation.judged_group import JudgedGroup
from model.evaluation.labelled_group import LabelledGroup
from model.evaluation.run_file import RunFile


def sample_groups(groups: Iterable[LabelledGroup], limit: int | None = None) -> list[LabelledGroup]:
    """Return at most `limit` distinct groups, sorted by id; all of them if `limit` is None.

    An id is a hash of the group's content. A smaller limit therefore gives a prefix of a larger one, and a later run
    can add groups to an earlier one.
    """
    drawn = sorted({group.id: group for group in groups}.items())
    return [group for _, group in drawn[:limit]]


def judge_groups(
    groups: Sequence[LabelledGroup],
    judge: Judge,
    file: RunFile | None = None,
    on_group: Callable[[int], None] = lambda _done: None,
    *,
    concurrency: int = 1,
) -> list[JudgedGroup]:
    """Judge every group and return the judged groups in the order of `groups`.

    Groups that an earlier run stored in `file` are not judged again. `file` receives each new group as soon as it is
    judged. `on_group` is called with the number of finished groups each time the number grows. Up to `concurrency`
    groups are judged at the same time. Raises EngineDown; the groups judged so far stay in the file.
    """
    finished = {group.key: group for group in file.judged} if file else {}
    keys = [judge.key(group) for group in groups]
    missing = [group for group, key in zip(groups, keys, strict=True) if key not in finished]
    results = {key: finished[key] for key in keys if key in finished}
    if results:
        on_group(len(results))
    with closing(_judge_each(judge, missing, concurrency)) as fresh:
        for label in fresh:
            if file:
                file.add(label)
            results[label.key] = label
            on_group(len(results))
    return [results[key] for key in keys]


def _judge_each(
    judge: Judge, groups: Sequence[LabelledGroup], together: int
) -> Generator[JudgedGroup, None, None]:
    """Yield each judged group when it is ready, in input order only with `concurrency` 1."""
    if together == 1:
        yield from map(judge.judge, groups)
        return
    pool = ThreadPoolExecutor(together)
    try:
        yield from _iterate_finished([pool.submit(judge.judge, group) for group in groups])
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _iterate_finished(awaited: Sequence[Future[JudgedGroup]]) -> Iterator[JudgedGroup]:
    """Yield finished groups. After a failure, cancel pending groups, drain running ones, then raise."""
    failure: BaseException | None = None
    for future in as_completed(awaited):
        if future.cancelled():
            continue
        if error := future.exception():
            failure = failure or error
            for group in awaited:
                group.cancel()
        else:
            yield future.result()
    if failure:
        raise failure
