"""Say once on an issue that several open pull requests claim it, before any verdict and without a model."""

import logging
from collections.abc import Sequence

from app import comments
from app.db.session import transaction
from app.db.store.issues import groups
from app.db.store.queue.effects import build_comment_key, build_notice_key, find_github_id
from app.github.api.effect_store import EffectKey
from app.github.api.publisher import CommentDraft, Publisher
from app.github.errors import ConversationClosed, WritePaceExceeded
from app.github.http.connection import GitHub
from app.values.identifiers import IssueRef, PullNumber
from worker.queue.context import Context

log = logging.getLogger(__name__)


def announce_rivals(
    github: GitHub, context: Context, issue: IssueRef, pulls: Sequence[PullNumber]
) -> None:
    """Write the notice that names `pulls`, unless it or a verdict stands there. Without pull requests, do nothing.

    Later rivals do not change the notice, so it costs one write. Without a free write, the bot leaves it out.
    """
    if not pulls:
        return
    repository = issue.repository
    with transaction(context.database) as connection:
        group = groups.find_group(connection, repository.id, issue.number)
    if group is None:
        return
    key = EffectKey(repository, build_notice_key(group.id))
    verdict = EffectKey(repository, build_comment_key(group.id))
    if find_github_id(context.database, verdict) or find_github_id(context.database, key):
        return
    body = comments.write_early_notice(group.id, pulls)
    draft = CommentDraft(issue.number, body, comments.format_notice_marker(group.id))
    try:
        Publisher(github.for_replies, context.open_effects()).comment(key, draft)
    except (ConversationClosed, WritePaceExceeded) as error:
        log.info("no notice on #%s: %s", issue.number, error)
