import type { Spread } from './compare.ts'

/** One goal of the table. */
export interface Line {
  goal: string
  what: string
  /** The result and the goal; with `>=`, more is better. */
  ratio: Spread
  wanted: { least: number } | { most: number }
  /** The two figures behind it, with their unit. */
  ours: string
  floor: string
  cpu?: { ours: number; floor: number; most?: number }
}

const two = (value: number) => value.toFixed(2)

export function print(line: Line): void {
  const { ratio, wanted, cpu } = line
  const isReached = 'least' in wanted ? ratio.median >= wanted.least : ratio.median <= wanted.most
  const target = 'least' in wanted ? `>= ${wanted.least}` : `<= ${wanted.most}`
  console.log(
    [
      line.goal.padEnd(4),
      line.what.padEnd(44),
      `goal ${target}`.padEnd(13),
      `ours ${line.ours}`.padEnd(18),
      `floor ${line.floor}`.padEnd(19),
      `ratio ${two(ratio.median)} (${two(ratio.min)} to ${two(ratio.max)})`.padEnd(27),
      cpuText(cpu).padEnd(44),
      isReached && (!cpu?.most || cpu.ours / cpu.floor <= cpu.most) ? 'reached' : 'missed',
    ].join(' '),
  )
}

function cpuText(cpu: Line['cpu']): string {
  if (!cpu) return ''
  const most = cpu.most ? `, goal <= ${cpu.most}` : ''
  return `CPU ${Math.round(cpu.ours)} / ${Math.round(cpu.floor)} µs = ${two(cpu.ours / cpu.floor)} ×${most}`
}

/** Something that is not a goal, such as a peer. */
export const say = (text: string): void => console.log(`     ${text}`)

export const perSecond = (value: number): string => `${Math.round(value)}/s`
export const millis = (micros: number): string => `${(micros / 1000).toFixed(2)} ms`
