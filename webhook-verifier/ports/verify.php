<?php

declare(strict_types=1);

/** True when one of the secrets signed the raw bytes of the body. An empty secret never did. */
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
