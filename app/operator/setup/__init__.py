"""`r4p setup` and the page `/setup`: register the App by GitHub's manifest flow, choose a model, store both.
In: the operator's answers, in a browser or a terminal. Out: settings and secrets in the folder of `r4p up`.
May call: every room; of web, only the rendering of pages and the listening address.
"""
