"""The consensus model compares the rival patches of one issue without a language model.
In: patches of one issue. Out: features, agreeing rivals and a probability per patch.
May call: voting and patches. `consensus.json.xz` is the fitted model; training writes it.
"""
