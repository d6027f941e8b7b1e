import type { Spread } from './compare.ts'

/** One row of the table. */
export interface Line {
  /** Its number in the list of goals, or `peer`. */
  goal: string
  what: string
  result: Spread
  /** The result is a ratio, unless it has a unit. */
  unit?: string
  /** With `least`, more is better. A peer has no goal. */
  wanted?: { least: number } | { most: number }
  /** The two figures behind a ratio, with their unit. */
  ours?: string
  floor?: string
  cpu?: { ours: number; floor: number; most?: number }
}

/** What this run has measured. */
export const lines: Line[] = []

const two = (value: number) => value.toFixed(2)

export function print(line: Line): void {
  lines.push(line)
  const { result, unit } = line
  console.log(
    [
      line.goal.padEnd(4),
      line.what.padEnd(44),
      goalText(line, ['>=', '<=']).padEnd(13),
      `ours ${line.ours ?? ''}`.padEnd(18),
      `floor ${line.floor ?? ''}`.padEnd(19),
      `${unit ? 'result' : 'ratio'} ${spreadText(result, ' to ')}${unit ? ` ${unit}` : ''}`.padEnd(27),
      cpuText(line.cpu).padEnd(44),
      verdictOf(line),
    ].join(' '),
  )
}

export const spreadText = ({ median, min, max }: Spread, to: string): string =>
  min === max ? two(median) : `${two(median)} (${two(min)}${to}${two(max)})`

export const goalText = ({ wanted, unit }: Line, [least, most]: [string, string]): string =>
  wanted
    ? `goal ${'least' in wanted ? `${least} ${wanted.least}` : `${most} ${wanted.most}`}${unit ? ` ${unit}` : ''}`
    : ''

export function cpuText(cpu: Line['cpu']): string {
  if (!cpu) return ''
  const most = cpu.most ? `, goal <= ${cpu.most}` : ''
  return `CPU ${Math.round(cpu.ours)} / ${Math.round(cpu.floor)} µs = ${two(cpu.ours / cpu.floor)} ×${most}`
}

export function verdictOf({ result, wanted, cpu }: Line): 'reached' | 'missed' | '' {
  if (!wanted) return ''
  const isReached = 'least' in wanted ? result.median >= wanted.least : result.median <= wanted.most
  return isReached && (!cpu?.most || cpu.ours / cpu.floor <= cpu.most) ? 'reached' : 'missed'
}

/** Something that is not a goal. */
export const say = (text: string): void => console.log(`     ${text}`)

export const perSecond = (value: number): string => `${Math.round(value)}/s`
export const millis = (micros: number): string => `${(micros / 1000).toFixed(2)} ms`
