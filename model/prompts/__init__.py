"""Prompt templates, and the escaping of text that strangers wrote.
In: values for a template. Out: chat messages, with the version and fingerprint of the template.
May call: no other room.
"""
