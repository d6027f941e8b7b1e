import hashlib
import hmac
import re


def verify(body: bytes, signature: str, secrets: list[str]) -> bool:
    """True when one of the secrets signed the raw bytes of the body."""
    if not secrets or not all(secrets):
        raise ValueError("a webhook secret is missing or empty")
    if not re.fullmatch("[0-9a-f]{64}", signature or ""):
        return False
    macs = [hmac.new(secret.encode(), body, hashlib.sha256).hexdigest() for secret in secrets]
    return any(hmac.compare_digest(mac, signature) for mac in macs)
