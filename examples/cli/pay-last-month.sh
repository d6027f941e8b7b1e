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
# point. A batch that was paid or canceled elsewhere is skipped. If the total of a batch changes after its export, no new
# file is written until you have confirmed that the old one was not uploaded, by deleting it.
#
# Exit codes are those of referral. Also 5: a batch changed during the export; run it again. 9: a batch is above the
# maximum. 10: the total of a batch changed after its export; the message says what to do.
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

# Prints id, total and currency of every open batch. In a pipe a list is tab-separated.
list_open() {
  list=$($referral payouts list --all --status OPEN) || return
  echo "$list" | awk -F '\t' 'NF { print $1 "\t" $7 "\t" $8 }'
}

# Whether the list of open batches in $1 contains the batch $2 with the total $3.
is_listed() {
  echo "$1" | awk -F '\t' -v id="$2" -v total="$3" '$1 == id && $2 == total { found = 1 } END { exit !found }'
}

# Prints the exports of batch $2 in folder $1 with another total than $3.
other_exports() {
  for old in "$1/$2"-* "$1/outdated/$2"-*; do
    if [ ! -d "$old" ]; then continue; fi
    case $(basename "$old") in "$2-$3" | "$2-$3".*) ;; *) echo "$old" ;; esac
  done
}

# Prints what to do when the total of batch $2, exported to folder $1, is now $3.
explain_change() {
  echo "The total of batch $2 changed after it was exported; it is now $3 cents."
  other_exports "$1" "$2" "$3" | sed 's/^/Old export: /'
  echo "If you have uploaded an old export, upload nothing else for this batch. Run: $0 paid $1/$2-$3"
  echo "  Its payees were paid too much, and no later batch deducts the difference: settle it with them."
  echo "If you have not uploaded any, delete the old exports and run export again."
}

export_batch() {
  target="$folder/$1-$2"
  if [ -n "$(other_exports "$folder" "$1" "$2")" ]; then
    explain_change "$folder" "$1" "$2" >&2
    return 10
  fi
  if [ "$2" -gt "$maximum" ]; then
    echo "Batch $1 pays $2 cents $3, more than the maximum of $maximum. Pay it manually." >&2
    return 9
  fi
  if [ "$2" -eq 0 ]; then
    # Only debts: nothing to pay, and the debts are carried to the next period.
    $referral payouts pay "$1" --yes --expect-total 0 >&2
    return
  fi
  if [ -d "$target" ]; then
    verify_open "$1" "$2" || return
    echo "$target"
    return
  fi
  # Written to a temporary folder and moved when complete, so a folder with this name is always a complete export.
  part=$(mktemp -d "$folder/.part-XXXXXX") || return
  code=0
  $referral payouts export "$1" --format paypal --expect-total "$2" --dir "$part" >/dev/null 2>"$part/messages.txt" || code=$?
  cat "$part/messages.txt" >&2
  # 8: some payees cannot be paid with such a file. The messages name them; pay them in another way.
  if [ "$code" -ne 0 ] && [ "$code" -ne 8 ]; then rm -rf "$part"; return "$code"; fi
  # The batch may have changed while the files were written.
  verified=0
  verify_open "$1" "$2" || verified=$?
  if [ "$verified" -ne 0 ]; then rm -rf "$part"; return "$verified"; fi
  if [ "$code" -eq 8 ]; then mv "$part/messages.txt" "$part/left-out.txt"; else rm "$part/messages.txt"; fi || return
  mv "$part" "$target" || return
  # A concurrent run finished first, so mv moved this folder into its folder.
  rm -rf "$target/$(basename "$part")"
  echo "$target"
  return "$code"
}

# Fails unless batch $1 is still open with the total $2.
verify_open() {
  now_open=$(list_open) || return
  if is_listed "$now_open" "$1" "$2"; then return; fi
  echo "Batch $1 changed during the export. Run export again." >&2
  return 5
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
    $referral payouts create --month "$month" --each-currency --include-earlier >/dev/null || code=$?
    case $code in 5 | 8) ;; *) break ;; esac
  done
  case $code in 0 | 3) ;; 5 | 8) keep "$code" ;; *) exit "$code" ;; esac

  # Batches created by hand are included: every open batch awaits payment.
  open=$(list_open) || exit
  # Exports that are no longer open with this total need no payment.
  for old in "$folder"/bat_*-*; do
    if [ ! -d "$old" ]; then continue; fi
    name=$(basename "$old")
    if ! is_listed "$open" "${name%-*}" "${name##*-}"; then
      echo "$name is no longer open with this total; its files are in $folder/outdated." >&2
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

# Marks exactly the exported total as paid, or nothing.
pay_export() {
  parent=$(dirname "$1")
  # Folders in paid and outdated have a unique suffix.
  name=$(basename "$1")
  name=${name%%.*}
  id=${name%-*}
  total=${name##*-}
  case $id in bat_*) ;; *) usage ;; esac
  case $total in '' | *[!0-9]*) usage ;; esac
  case $parent in
    outdated | */outdated)
      echo "This export is outdated: $1" >&2
      explain_conflict "$(dirname "$parent")"
      return 5
      ;;
  esac
  left_out=$({ echo "$1"; other_exports "$parent" "$id" "$total"; } | while IFS= read -r export; do
    if [ -s "$export/left-out.txt" ]; then echo "$export/left-out.txt"; fi
  done)
  if [ -n "$left_out" ]; then
    echo "Not every payee of $id is in its files. Pay those in $left_out, delete that file, and run this again." >&2
    return 8
  fi
  code=0
  $referral payouts pay "$id" --yes --expect-total "$total" || code=$?
  if [ "$code" -eq 5 ]; then explain_conflict "$parent"; fi
  if [ "$code" -ne 0 ]; then return "$code"; fi
  case $parent in paid | */paid) return ;; esac
  if [ -d "$1" ]; then retire "$1" "$parent/paid"; fi
}

# Prints what to do if the batch is open with another total than the exported one.
explain_conflict() {
  now=$(list_open | awk -F '\t' -v id="$id" '$1 == id { print $2 }')
  if [ -n "$now" ] && [ "$now" != "$total" ]; then explain_change "$1" "$id" "$now" >&2; fi
}

mark_paid() {
  for sent in "$@"; do pay_export "${sent%/}" || keep $?; done
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
