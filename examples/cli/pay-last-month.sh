#!/bin/sh
# Pays last month's commissions with two commands. Cron runs the first: 0 6 2 * * /srv/shop/pay-last-month.sh export 500000
#
#   pay-last-month.sh export <maximum cents> [folder] [month, default last]
#   pay-last-month.sh paid <folder>/<batch>-<cents> ...
#
# export creates one batch per currency and writes the payment files of every open batch to <folder>/<batch>-<cents>.
# Upload these files to your payment provider. When the money is sent, mark these folders with paid.
#
# The state is on the server and is read on every run, so runs can be repeated, run concurrently, or be killed at any
# point. A batch that was paid or canceled elsewhere is skipped; one whose total changed gets a new folder.
set -eu

referral=${REFERRAL:-referral}

usage() {
  sed -n '4,5s/^# *//p' "$0" >&2
  exit 2
}

# The first error. The other batches are still processed.
worst=0
keep() { if [ "$worst" -eq 0 ]; then worst=$1; fi; }

# Moves a folder into another one under a unique name, safe against concurrent runs.
retire() {
  mkdir -p "$2"
  mv "$1" "$2/$(basename "$1").$$" 2>/dev/null || true
}

export_batch() {
  target="$folder/$1-$2"
  if [ "$2" -gt "$maximum" ]; then
    echo "Batch $1 pays $2 cents $3, more than the maximum of $maximum. Pay it manually." >&2
    return 9
  fi
  if [ "$2" -eq 0 ]; then
    # Only debts: nothing to pay, and the debts are carried to the next period.
    $referral payouts pay "$1" --yes --expect-total 0 >&2
    return
  fi
  if [ -d "$target" ]; then echo "$target"; return; fi
  # Written to a temporary folder and moved when complete, so a folder with this name is always a complete export.
  part=$(mktemp -d "$folder/.part-XXXXXX") || return
  code=0
  $referral payouts export "$1" --format paypal --dir "$part" >/dev/null 2>"$part/messages.txt" || code=$?
  cat "$part/messages.txt" >&2
  # 8: some payees cannot be paid with such a file. The messages name them; pay them in another way.
  if [ "$code" -ne 0 ] && [ "$code" -ne 8 ]; then rm -rf "$part"; return "$code"; fi
  if [ "$code" -eq 8 ]; then mv "$part/messages.txt" "$part/left-out.txt"; else rm "$part/messages.txt"; fi || return
  mv "$part" "$target" || return
  # A concurrent run finished first, so mv moved this folder into its folder.
  rm -rf "$target/$(basename "$part")"
  echo "$target"
  return "$code"
}

export_all() {
  maximum=${1:-}
  folder=${2:-payouts}
  month=${3:-last}
  case $maximum in '' | *[!0-9]*) usage ;; esac
  (umask 077 && mkdir -p "$folder")
  # Left over from killed runs.
  find "$folder" -maxdepth 1 -name '.part-*' -mmin +1440 -exec rm -rf {} +

  # 3: no approved commissions in that month, or all are in a batch. 5, 8: all or some are below the minimum.
  # A concurrent run that creates the batches causes the same codes, so those are tried again.
  for pause in 0 1 2; do
    sleep "$pause"
    code=0
    $referral payouts create --month "$month" --each-currency >/dev/null || code=$?
    case $code in 5 | 8) ;; *) break ;; esac
  done
  case $code in 0 | 3) ;; 5 | 8) keep "$code" ;; *) exit "$code" ;; esac

  # Batches created by hand are included: every open batch awaits payment. In a pipe a list is tab-separated.
  list=$($referral payouts list --all --status OPEN) || exit
  open=$(echo "$list" | awk -F '\t' 'NF { print $1 "\t" $7 "\t" $8 }')
  # Exports that are no longer open with this total need no payment.
  for old in "$folder"/bat_*-*; do
    if [ ! -d "$old" ]; then continue; fi
    if ! echo "$open" | awk -F '\t' '{ print $1 "-" $2 }' | grep -qxF "$(basename "$old")"; then
      echo "$(basename "$old") is no longer open with this total; its files are in $folder/outdated." >&2
      retire "$old" "$folder/outdated"
    fi
  done
  tab=$(printf '\t')
  while IFS=$tab read -r id total currency; do
    if [ -n "$id" ]; then export_batch "$id" "$total" "$currency" || keep $?; fi
  done <<END
$open
END
}

mark_paid() {
  for sent in "$@"; do
    name=$(basename "$sent")
    id=${name%-*}
    total=${name##*-}
    case $id-$total in bat_*-[0-9]*) ;; *) usage ;; esac
    if [ -s "$sent/left-out.txt" ]; then
      echo "Not every payee of $id is in its files. Pay those in $sent/left-out.txt, delete that file, and run this again." >&2
      keep 8
      continue
    fi
    # Marks exactly the exported total as paid, or nothing. 5: the batch has changed; compare before you continue.
    if $referral payouts pay "$id" --yes --expect-total "$total"; then
      if [ -d "$sent" ]; then retire "$sent" "$(dirname "$sent")/paid"; fi
    else keep $?; fi
  done
}

[ $# -ge 2 ] || usage
command=$1
shift
case $command in
  export) export_all "$@" ;;
  paid) mark_paid "$@" ;;
  *) usage ;;
esac
exit "$worst"
