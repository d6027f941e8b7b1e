import type { values } from '../contract.ts'
import type { Environment } from '../environment.ts'

export type Paint = (text: string) => string

export interface Palette {
  bold: Paint
  dim: Paint
  red: Paint
  green: Paint
  yellow: Paint
}

const plain: Paint = (text) => text
const sgr =
  (on: number, off: number): Paint =>
  (text) =>
    `\u001b[${on}m${text}\u001b[${off}m`

const COLORED: Palette = {
  bold: sgr(1, 22),
  dim: sgr(2, 22),
  red: sgr(31, 39),
  green: sgr(32, 39),
  yellow: sgr(33, 39),
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
type State = (typeof values)[Status][number] | 'active' | 'revoked' | 'ok' | 'failed' | 'warning'

const GOOD: State[] = ['APPROVED', 'ACTIVE', 'ACCEPTED', 'PAYABLE', 'PAID', 'PUBLISH', 'active', 'ok']
const BAD: State[] = ['REJECTED', 'REVERSED', 'CANCELED', 'REFUNDED', 'FAILED', 'revoked', 'failed']
const WAITING: State[] = ['PENDING', 'OPEN', 'PROCESSING', 'DRAFT', 'PRIVATE', 'warning']

/** States in the colour of what they mean. */
export function paintState(palette: Palette, text: string): string {
  const isAmong = (states: State[]) => (states as string[]).includes(text)
  if (isAmong(GOOD)) return palette.green(text)
  if (isAmong(BAD)) return palette.red(text)
  return isAmong(WAITING) ? palette.yellow(text) : text
}
