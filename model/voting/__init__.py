"""Votes: who is shown together, how a reply is read, how votes become verdicts.
In: candidates and replies. Out: groups, votes, counts, verdicts and a selected patch.
May call: patches.
"""
