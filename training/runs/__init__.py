"""Read and write the folder of one training run.

In: steps, results and provenance. Out: files that are complete or absent, and live progress.
May call datasets and plans. Nothing here loads torch at import.
"""
