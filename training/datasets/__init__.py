"""Define what trainers read: groups, pairs, attempts and agent tasks, on disk and in order.

In: values from curation, or files. Out: dataset folders, epochs, rounds, prompts and examples.
May call plans.
"""
