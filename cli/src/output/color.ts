import type { enums } from '../contract.ts'
import type { Environment } from '../environment.ts'

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

/** NO_COLOR and --plain win over FORCE_COLOR, and that over what the stream is. */
export function paletteFor(env: Environment, { isTerminal, plain }: { isTerminal: boolean; plain: boolean }): Palette {
  if (plain || env.NO_COLOR) return PLAIN
  if (env.FORCE_COLOR) return env.FORCE_COLOR === '0' ? PLAIN : COLORED
  return isTerminal && env.TERM !== 'dumb' ? COLORED : PLAIN
}

type Status = 'AffiliateStatus' | 'CommissionStatus' | 'ProgramStatus' | 'PayoutBatchStatus'
/** Whatever has a status in the contract, the keys, and the checks of the command line itself. */
type KnownStatus = (typeof enums)[Status][number] | 'active' | 'revoked' | 'ok' | 'failed' | 'warning'

const SUCCESS: KnownStatus[] = ['APPROVED', 'ACTIVE', 'ACCEPTED', 'PAYABLE', 'PAID', 'PUBLISH', 'active', 'ok']
const FAILURE: KnownStatus[] = ['REJECTED', 'REVERSED', 'CANCELED', 'REFUNDED', 'FAILED', 'revoked', 'failed']
const PENDING: KnownStatus[] = ['PENDING', 'OPEN', 'PROCESSING', 'DRAFT', 'PRIVATE', 'warning']

/** States in the colour of what they mean. */
export function colorizeStatus(palette: Palette, text: string): string {
  const isAmong = (states: KnownStatus[]) => (states as string[]).includes(text)
  if (isAmong(SUCCESS)) return palette.green(text)
  if (isAmong(FAILURE)) return palette.red(text)
  return isAmong(PENDING) ? palette.yellow(text) : text
}
