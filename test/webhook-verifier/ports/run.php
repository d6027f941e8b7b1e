<?php
require $argv[1];

while (($line = fgets(STDIN)) !== false) {
    [$body, $signature, $secret] = array_map('hex2bin', explode(' ', rtrim($line, "\n")));
    echo verify($body, $signature, $secret) ? 1 : 0, "\n";
}
