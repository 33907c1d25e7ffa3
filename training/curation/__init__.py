"""Turn labelled patches into groups, split by issue, and count every dropped item with its reason.

In: pools of patches, one for each issue. Out: training groups in splits, and the steps of the manifest.
May call datasets and labels. No I/O.
"""
