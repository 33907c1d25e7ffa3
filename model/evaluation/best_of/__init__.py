"""Best@K with a new judgement for each drawn set of K candidates.
In: issues with labelled patches. Out: the share of issues that a verifier's choice resolves, for each K.
May call: the modules of evaluation, voting and the catalogue.
"""
