"""Verifiers judge the candidate patches of one issue; one module per verifier.
In: an issue and its candidates. Out: a GroupVerdict with one verdict per patch.
May call: rivals, voting, prompts, patches. The caller passes the engine.
"""
