#!/bin/sh
# Pays last month's commissions in two runs. The first one is for cron: 0 6 2 * * /srv/shop/pay-last-month.sh export 500000
#
#   pay-last-month.sh export <maximum cents> [folder] [month, default last]
#   pay-last-month.sh paid <folder>/<batch>-<cents> ...
#
# export makes one batch per currency and writes the payment files of every open batch to <folder>/<batch>-<cents>.
# Send those files to your payment service. When the money has left, tell the API which folders you sent with paid.
#
# The server holds the state: every run reads it again, so that a run may be repeated, run beside another one, or stop at
# any line. A batch that was paid or canceled elsewhere drops out; one whose total changed gets a new folder.
set -eu

referral=${REFERRAL:-referral}

usage() {
  sed -n '4,5s/^# *//p' "$0" >&2
  exit 2
}

# The first thing that went wrong. The other batches are handled all the same.
worst=0
keep() { if [ "$worst" -eq 0 ]; then worst=$1; fi; }

# Moves a folder into another one under a name of its own, whatever another run does meanwhile.
retire() {
  mkdir -p "$2"
  mv "$1" "$2/$(basename "$1").$$" 2>/dev/null || true
}

export_batch() {
  target="$folder/$1-$2"
  if [ "$2" -gt "$maximum" ]; then
    echo "Batch $1 pays $2 cents $3, more than the maximum of $maximum. Pay it by hand." >&2
    return 9
  fi
  if [ "$2" -eq 0 ]; then
    # Only debts: nothing to send, and the debts move on to the next period.
    $referral payouts pay "$1" --yes --expect-total 0 >&2
    return
  fi
  if [ -d "$target" ]; then echo "$target"; return; fi
  # Written aside and moved when complete: a folder with this name always holds the whole export of this total.
  part=$(mktemp -d "$folder/.part-XXXXXX") || return
  code=0
  $referral payouts export "$1" --format paypal --dir "$part" >/dev/null 2>"$part/messages.txt" || code=$?
  cat "$part/messages.txt" >&2
  # 8: some payees cannot stand in such a file. The messages name them; pay them another way.
  if [ "$code" -ne 0 ] && [ "$code" -ne 8 ]; then rm -rf "$part"; return "$code"; fi
  if [ "$code" -eq 8 ]; then mv "$part/messages.txt" "$part/left-out.txt"; else rm "$part/messages.txt"; fi || return
  mv "$part" "$target" || return
  # Another run was faster, and mv put this one inside its folder.
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
  # Left behind by runs that were killed.
  find "$folder" -maxdepth 1 -name '.part-*' -mmin +1440 -exec rm -rf {} +

  # 3: nothing approved in that month, or everything is in a batch already. 5, 8: all or some of it is below the minimum.
  # The same codes say that another run makes the batches at this moment; a later look tells the two apart.
  for pause in 0 1 2; do
    sleep "$pause"
    code=0
    $referral payouts create --month "$month" --each-currency >/dev/null || code=$?
    case $code in 5 | 8) ;; *) break ;; esac
  done
  case $code in 0 | 3) ;; 5 | 8) keep "$code" ;; *) exit "$code" ;; esac

  # Batches made by hand are paid too: whatever is open waits for money. In a pipe a list is tab-separated.
  list=$($referral payouts list --all --status OPEN) || exit
  open=$(echo "$list" | awk -F '\t' 'NF { print $1 "\t" $7 "\t" $8 }')
  # What was exported and is no longer open with this total needs no payment from here.
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
      echo "Not every payee of $id stands in its files. Pay those in $sent/left-out.txt, delete that file and run this again." >&2
      keep 8
      continue
    fi
    # Marks exactly the total that was exported as paid, or nothing. 5: the batch has changed since; compare before you go on.
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
