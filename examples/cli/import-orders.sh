#!/bin/sh
# Reports each order of a CSV file once. The script can be stopped and run again.
#
#   import-orders.sh [file [options of `referral events import`]]
set -eu

file=${1:-$(dirname "$0")/orders.csv}
if [ $# -gt 0 ]; then shift; fi
referral=${REFERRAL:-referral}

# Dry run: shows the column mapping and sends nothing. Exit code 8: some rows will fail.
code=0
$referral events import "$file" "$@" --dry-run >/dev/null || code=$?
if [ "$code" -ne 0 ] && [ "$code" -ne 8 ]; then exit "$code"; fi
code=0
report=$($referral events import "$file" "$@") || code=$?
if [ -n "$report" ]; then echo "$report"; fi
# In a pipe a report consists of lines with name, tab, value.
failed=$(echo "$report" | awk -F '\t' '$1 == "failedFile" { print $2 }')
if [ "$code" -eq 8 ]; then echo "Correct $failed and import it." >&2; fi
exit "$code"
