"""What the bot writes on GitHub: verdicts, replies, the configuration check, draft pull requests.
In: stored evaluations. Out: comments, check runs, drafts.
May call: outcomes, repositories, queue, git.
"""
