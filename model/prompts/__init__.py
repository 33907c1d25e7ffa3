"""Prompt templates, and the escaping of untrusted text.
In: values for a template. Out: chat messages, with the version and fingerprint of the template.
May call: no other room.
"""
