"""Build gyms from the history of repositories, as R2E-Gym does with SWE-GEN (section 2 and appendix A).
In: a git repository. Out: the folder of a gym, `r4p.gym/1`, and Harbor tasks.
May call: model. Code of a repository runs only behind `model.execution`.
"""
