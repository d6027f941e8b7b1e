#!/bin/sh
# Pays last month's commissions, for cron: 0 6 2 * * /srv/shop/pay-last-month.sh 500000
#
#   pay-last-month.sh <most cents to pay> [folder for the files] [month, by default last]
#
# Run again after a crash it goes on with the batch it made. Ends with 0 also when there was nothing to pay.
set -eu

most=${1:?say how many cents may be paid at most}
folder=${2:-payouts}
month=${3:-last}
referral=${REFERRAL:-referral}
note="$folder/batch-under-way"
mkdir -p "$folder"

if [ ! -s "$note" ]; then
  code=0
  $referral payouts create --month "$month" >"$note.new" || code=$?
  # 3: no approved commissions in that month.
  if [ "$code" -eq 3 ]; then rm -f "$note.new"; exit 0; fi
  if [ "$code" -ne 0 ]; then rm -f "$note.new"; exit "$code"; fi
  mv "$note.new" "$note"
fi

# In a pipe a record is lines of name, tab, value.
field() { awk -F '\t' -v name="$1" '$1 == name { print $2 }' "$note"; }
batch=$(field id)
total=$(field totals.netPayableCents)

if [ "$total" -gt "$most" ]; then
  echo "Batch $batch pays $total cents, more than $most: pay it by hand." >&2
  exit 9
fi

# Your payment service takes this file. 8: somebody cannot stand in it; the batch waits until that is settled.
$referral payouts export "$batch" --format paypal --dir "$folder" --force
# Marks as paid the total that was exported, or nothing.
$referral payouts pay "$batch" --yes --expect-total "$total"
rm "$note"
