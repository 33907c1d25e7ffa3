"""The `/r4p` commands of one comment: check the author's permission, act, react or reply.
In: the job of a comment or review with commands. Out: replies, reactions, follow-up jobs and recorded outcomes.
May call: publishing, outcomes, repositories, queue.
"""
