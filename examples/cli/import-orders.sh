#!/bin/sh
# Reports the orders of a CSV file, each once. Stop it and run it again as often as you like.
set -eu

file=${1:-$(dirname "$0")/orders.csv}
referral=${REFERRAL:-referral}

# First look: which column is read as what. Nothing is sent. 8: rows that will fail; the rest is fine.
code=0
$referral events import "$file" --dry-run >/dev/null || code=$?
if [ "$code" -ne 0 ] && [ "$code" -ne 8 ]; then exit "$code"; fi
code=0
report=$($referral events import "$file") || code=$?
if [ -n "$report" ]; then echo "$report"; fi
# In a pipe a report is lines of name, tab, value.
failed=$(echo "$report" | awk -F '\t' '$1 == "failedFile" { print $2 }')
if [ "$code" -eq 8 ]; then echo "Correct $failed and import it." >&2; fi
exit "$code"
