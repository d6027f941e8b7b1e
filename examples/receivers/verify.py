import hashlib
import hmac
import re


def verify(body: bytes, signature: str, secrets: list[str]) -> bool:
    """Returns True if one of the secrets produced the signature of the raw body."""
    if not secrets or not all(secrets):
        raise ValueError("A webhook secret is missing or empty.")
    if not re.fullmatch("[0-9a-f]{64}", signature or ""):
        return False
    expected = [hmac.new(secret.encode(), body, hashlib.sha256).hexdigest() for secret in secrets]
    return any(hmac.compare_digest(candidate, signature) for candidate in expected)
