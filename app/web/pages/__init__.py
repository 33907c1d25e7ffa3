"""The pages that people see in a browser: plain HTML from the server, without scripts.
In: requests of signed-in people. Out: pages, and jobs for what a form asks for.
May call: db, github (a person's own token), comments, policy, jobs, settings, values.
"""
