#!/bin/sh
# Reports the orders of a CSV file, each once. Stop it and run it again as often as you like.
set -eu

file=${1:-$(dirname "$0")/orders.csv}
referral=${REFERRAL:-referral}

# First look: which column is read as what. Nothing is sent.
$referral events import "$file" --dry-run >/dev/null
code=0
$referral events import "$file" || code=$?
if [ "$code" -eq 8 ]; then echo "Correct $(dirname "$file")/failed.csv and import it." >&2; fi
exit "$code"
