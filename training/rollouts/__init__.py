"""Sample replies and agent episodes from the model in training, and reward them.

In: groups or agent tasks, and a tokenizer. Out: token ids, masks, log-probabilities and rewards.
May call datasets, objective and plans.
"""
