"""Git on repositories that strangers write to: bare, without hooks, with fixed arguments and limits.
In: a repository and its heads. Out: patches, source trees, one commit for a draft.
May call: no other room.
"""
