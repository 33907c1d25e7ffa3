"""GitHub's JSON, read into typed slices (pure). In: answers over REST and GraphQL. Out: slices and facts.
May call: the values in github, settings, values.
"""
