"""One connection per installation: tokens, write pace, ETags, retries. In: a call. Out: an answer or a GitHubError.
May call: wire, and the values in github.
"""
