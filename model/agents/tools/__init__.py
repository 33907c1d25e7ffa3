"""The three tools of Mini-SE: search, edit and submit. No tool runs code of the tree.
In: a tool call and a ToolContext. Out: an observation or a submission.
May call: prompts, codegraph, workspace. These modules open no file themselves.
"""
