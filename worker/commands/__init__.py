"""The `/r4p` commands of one comment: check the author's permission, act, react or reply.
May call: publishing, outcomes, repositories, queue.
"""
