import { type Job, type Load, load } from './load.ts'
import type { Subject } from './subject.ts'

/** A round of one server. */
export interface Sample extends Load {
  cpuMicros: number
}

export interface Spread {
  min: number
  median: number
  max: number
}

export type Rounds = Map<Subject, Sample[]>

export type Load1 = Omit<Job, 'url' | 'from'>

let numbers = 1_000_000_000

/** Ten digits, unique in this run. */
export const takeNumbers = (count = 10_000_000): number => {
  const from = numbers
  numbers += count
  return from
}

/** One round: a load, and the CPU time that the server used per request. */
export async function measure(subject: Subject, job: Load1): Promise<Sample> {
  const before = await subject.usage()
  const result = await load({ ...job, url: subject.url, from: takeNumbers() })
  const after = await subject.usage()
  if (result.wrong > 0) throw new Error(`${subject.name} refused ${result.wrong} of ${result.requests} requests`)
  return { ...result, cpuMicros: (after.cpuMicros - before.cpuMicros) / result.requests }
}

export interface Plan {
  jobOf: (subject: Subject) => Load1
  rounds: number
  warmUpSeconds: number
}

/** All servers in turn, in alternating order each round, so that load on the machine affects all of them. */
export async function compare(subjects: Subject[], { jobOf, rounds, warmUpSeconds }: Plan): Promise<Rounds> {
  const samples: Rounds = new Map(subjects.map((subject) => [subject, []]))
  for (const subject of subjects) await measure(subject, { ...jobOf(subject), seconds: warmUpSeconds })
  for (let round = 0; round < rounds; round++) {
    for (const subject of round % 2 === 0 ? subjects : subjects.toReversed())
      samples.get(subject)?.push(await measure(subject, jobOf(subject)))
  }
  return samples
}

export function spreadOf(values: number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (index: number) => sorted[index] ?? Number.NaN
  return { min: at(0), median: at(Math.floor(sorted.length / 2)), max: at(sorted.length - 1) }
}

/** The ratio of a figure of two servers, per round. */
export const ratios = (rounds: Rounds, [over, under]: [Subject, Subject], figure: (sample: Sample) => number): Spread =>
  spreadOf((rounds.get(over) ?? []).map((sample, n) => figure(sample) / figure(rounds.get(under)?.[n] as Sample)))

/** The median of one server's figure. */
export const median = (rounds: Rounds, subject: Subject, figure: (sample: Sample) => number): number =>
  spreadOf((rounds.get(subject) ?? []).map(figure)).median
