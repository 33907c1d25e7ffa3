"""LoRA adapters of trained models, in a folder and on vLLM servers.
In: an adapter folder and server addresses. Out: a loaded adapter, or the reasons against it.
May call: engines.
"""
