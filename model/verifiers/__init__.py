"""Verifiers judge the candidates of one issue; each module holds one kind of verifier.
In: an issue and its candidates. Out: a GroupVerdict with one verdict per patch.
May call: rivals, voting, prompts, patches. The caller passes the engine.
"""
