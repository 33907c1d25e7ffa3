"""Turn issues of SWE-bench into tasks of a gym, with releases of the package index in place of the benchmark's images.
In: the benchmark's issues, labelled patches, and source distributions. Out: a gym with candidates, and how well the tests that
run here agree with the benchmark's labels. May call: training.gym and model.
"""
