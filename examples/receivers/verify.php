<?php

declare(strict_types=1);

/** Returns true if one of the secrets produced the signature of the raw body. Empty secrets are ignored. */
function verify(string $body, string $signature, string ...$secrets): bool
{
    if (preg_match('/\A[0-9a-f]{64}\z/', $signature) !== 1) {
        return false;
    }
    foreach ($secrets as $secret) {
        if ($secret !== '' && hash_equals(hash_hmac('sha256', $body, $secret), $signature)) {
            return true;
        }
    }
    return false;
}
