"""`r4p verify` on pull requests: read an issue and its rivals from GitHub with a plain token, and judge them here.
In: options of the command, or a GitHub event. Out: verdicts, a summary in Markdown, and outputs of a GitHub Actions step.
Nothing is written to GitHub, and nothing of a pull request runs. May call: policy, github, settings, model.commands.
"""
