"""Test environments are virtual environments with a repository's dependencies, built once by uv and kept in a folder.
In: a recipe (requirements, Python, date). Out: a folder with a Python that the tests' sandbox mounts read-only.
May call: sandbox, workspace and typed_json.
"""
