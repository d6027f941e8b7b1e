import { type Command, InvalidArgumentError, Option } from 'commander'

/** An option that may be given several times. */
export const repeatableOption = (flags: string, description: string): Option =>
  new Option(flags, description).argParser((value: string, all: string[] = []) => [...all, value])

export const choiceOption = (flags: string, description: string, choices: readonly string[]): Option =>
  new Option(flags, description).choices(choices)

/** --month, --from, --to and --time-zone. */
export const addPeriodOptions = (command: Command, from = 'start of the period, a date or a time'): Command =>
  command
    .option('--month <month>', 'a month such as 2026-10, or last or this')
    .option('--from <time>', from)
    .option('--to <time>', 'end of the period, a date or a time, inclusive')
    .option('--time-zone <name>', "time zone of months and dates, such as Europe/Berlin (default: the shop's)")

/** --month, for one whole month in the shop's time zone. */
export const singleMonthOption = (): Option =>
  new Option('--month <month>', 'a month such as 2026-10, or last or this').default('last')

/** Parses an integer from `min` to `max`. */
export const integerBetween =
  (min: number, max = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= min && value <= max) return value
    throw new InvalidArgumentError(
      max === Number.MAX_SAFE_INTEGER
        ? `It must be an integer of at least ${min}.`
        : `It must be an integer from ${min} to ${max}.`,
    )
  }

/** Parses an amount of at most ten digits, in cents. */
export function parseCents(text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new InvalidArgumentError('It must be an integer number of cents, such as 10000.')
  return Number(text)
}

/** Parses a number of rows, or `all`. */
export const parseCount = (text: string): number => {
  if (text === 'all') return Number.MAX_SAFE_INTEGER
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be an integer or all.')
  return Number(text)
}
