"""This module derives seeds and fingerprints from the texts of a prompt (pure)."""

import hashlib


def derive_seed(*parts: str) -> int:
    """Return a seed derived from texts, such as an issue and its patches: an integer of 31 bits, as all engines accept.

    Empty texts are skipped.
    """
    digest = hashlib.sha256("\0".join(filter(None, parts)).encode(errors="surrogatepass")).digest()
    return int.from_bytes(digest[:4]) >> 1


def combine_fingerprints(*parts: str) -> str:
    """Combine several fingerprints into one fingerprint of 12 hex digits. A single fingerprint stays unchanged."""
    if len(parts) == 1:
        return parts[0]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
