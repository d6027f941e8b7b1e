import type { Environment } from '../context.ts'
import type { enums } from '../contract.ts'

export type Colorize = (text: string) => string

export interface Palette {
  bold: Colorize
  dim: Colorize
  red: Colorize
  green: Colorize
  yellow: Colorize
}

const plain: Colorize = (text) => text
const ansi =
  (on: number, off: number): Colorize =>
  (text) =>
    `\u001b[${on}m${text}\u001b[${off}m`

const COLORED: Palette = {
  bold: ansi(1, 22),
  dim: ansi(2, 22),
  red: ansi(31, 39),
  green: ansi(32, 39),
  yellow: ansi(33, 39),
}
const PLAIN: Palette = { bold: plain, dim: plain, red: plain, green: plain, yellow: plain }

/** NO_COLOR and --plain take precedence over FORCE_COLOR, which takes precedence over the kind of stream. */
export function paletteFor(env: Environment, { isTerminal, plain }: { isTerminal: boolean; plain: boolean }): Palette {
  if (plain || env.NO_COLOR) return PLAIN
  if (env.FORCE_COLOR) return env.FORCE_COLOR === '0' ? PLAIN : COLORED
  return isTerminal && env.TERM !== 'dumb' ? COLORED : PLAIN
}

type Status = 'AffiliateStatus' | 'CommissionStatus' | 'ProgramStatus' | 'PayoutBatchStatus'
/** Statuses from the contract, of API keys, and of `doctor` checks. */
type KnownStatus = (typeof enums)[Status][number] | 'active' | 'revoked' | 'ok' | 'failed' | 'warning'

const SUCCESS: KnownStatus[] = ['APPROVED', 'ACTIVE', 'ACCEPTED', 'PAYABLE', 'PAID', 'PUBLISH', 'active', 'ok']
const FAILURE: KnownStatus[] = ['REJECTED', 'REVERSED', 'CANCELED', 'REFUNDED', 'FAILED', 'revoked', 'failed']
const PENDING: KnownStatus[] = ['PENDING', 'OPEN', 'PROCESSING', 'DRAFT', 'PRIVATE', 'warning']

/** Colors a known status; other text is unchanged. */
export function colorizeStatus(palette: Palette, text: string): string {
  const isAmong = (statuses: KnownStatus[]) => (statuses as string[]).includes(text)
  if (isAmong(SUCCESS)) return palette.green(text)
  if (isAmong(FAILURE)) return palette.red(text)
  return isAmong(PENDING) ? palette.yellow(text) : text
}
