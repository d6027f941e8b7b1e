#!/bin/sh
# Pays last month's commissions, for cron: 0 6 2 * * /srv/shop/pay-last-month.sh 500000
#
#   pay-last-month.sh <most cents to pay> [folder for the files] [month, by default last]
#
# One batch for each currency, each up to that many cents. Run again after a crash it goes on with the batches it made.
# Ends with 0 also when there was nothing to pay. What waits from before that month is said on standard error: read it.
set -eu

most=${1:?say how many cents may be paid at most}
folder=${2:-payouts}
month=${3:-last}
referral=${REFERRAL:-referral}
mkdir -p "$folder"

# In a pipe a record is lines of name, tab, value.
field() { awk -F '\t' -v name="$1" '$1 == name { print $2 }' "$2"; }

make_batch() {
  note="$folder/batch-under-way-$1"
  # A batch of an earlier run that is not paid yet comes first.
  if [ -s "$note" ]; then return; fi
  code=0
  $referral payouts create --month "$month" --currency "$1" >"$note.new" || code=$?
  if [ "$code" -eq 0 ]; then mv "$note.new" "$note"; else rm -f "$note.new"; return "$code"; fi
}

pay_batch() {
  batch=$(field id "$1")
  total=$(field totals.netPayableCents "$1")
  if [ "$total" -gt "$most" ]; then
    echo "Batch $batch pays $total cents $(field currency "$1"), more than $most: pay it by hand." >&2
    return 9
  fi
  # Your payment service takes this file. 8: somebody cannot stand in it; the batch waits until that is settled.
  $referral payouts export "$batch" --format paypal --dir "$folder" --force || return
  # Marks as paid the total that was exported, or nothing.
  $referral payouts pay "$batch" --yes --expect-total "$total" || return
  rm "$1"
}

# The first thing that went wrong; the other currencies are paid all the same.
worst=0
keep() { if [ "$worst" -eq 0 ]; then worst=$1; fi; }

# Shows one line per currency, the currency last. 3: no approved commissions; 5, 8: all or some are below the minimum.
code=0
plan=$($referral payouts preview --month "$month" --each-currency) || code=$?
case $code in 0 | 3) ;; 5 | 8) keep "$code" ;; *) exit "$code" ;; esac

for currency in $(echo "$plan" | awk -F '\t' '{ print $NF }'); do make_batch "$currency" || keep $?; done
for note in "$folder"/batch-under-way-???; do
  if [ -s "$note" ]; then pay_batch "$note" || keep $?; fi
done

# Not noted here: somebody made it by hand, or a run ended between making it and noting it.
for batch in $($referral payouts list --all --status OPEN | awk -F '\t' '{ print $1 }'); do
  if ! grep -qs "$batch" "$folder"/batch-under-way-???; then
    echo "Batch $batch is open, and this script does not pay it: look at it, then pay or cancel it by hand." >&2
    keep 9
  fi
done
exit "$worst"
