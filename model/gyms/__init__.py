"""Gyms: folders of tasks, each an issue with its base tree, its true patch and the tests that decide about a patch.
In: the folder of a gym. Out: tasks, recipes of test environments, and a task's tree as files. `training.gym` writes gyms.
May call: environments, patches, workspace and typed_json.
"""
