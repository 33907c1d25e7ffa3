"""Votes: the seats in a prompt, the reading of a reply, and the way from votes to verdicts.
In: candidates and replies. Out: groups, votes, counts, verdicts and a selected patch.
May call: patches.
"""
