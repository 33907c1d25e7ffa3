"""Webhook payloads, checked against GitHub's schemas and queued for every App."""
