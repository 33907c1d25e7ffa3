"""LoRA adapters of trained models, on disk and on vLLM servers.
In: an adapter folder and server addresses. Out: a loaded adapter, or the reasons why it is refused.
May call: engines.
"""
