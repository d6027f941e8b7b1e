import { median, type Rounds, ratios, type Sample } from './compare.ts'
import { type Line, perSecond, print } from './report.ts'
import type { Subject } from './subject.ts'

/** A line about requests per second; `cpuMost` bounds the ratio of the CPU time per request. */
type Rates = Pick<Line, 'goal' | 'what' | 'wanted'> & { cpuMost?: number }

/** Prints the requests per second of one server ÷ those of another, and the CPU time of each. */
export function printRates({ cpuMost, ...line }: Rates, measured: Rounds, [ours, floor]: [Subject, Subject]): void {
  const rate = (sample: Sample) => sample.perSecond
  const cpu = (sample: Sample) => sample.cpuMicros
  print({
    ...line,
    result: ratios(measured, [ours, floor], rate),
    ours: perSecond(median(measured, ours, rate)),
    floor: perSecond(median(measured, floor, rate)),
    cpu: {
      ours: median(measured, ours, cpu),
      floor: median(measured, floor, cpu),
      ...(cpuMost === undefined ? {} : { most: cpuMost }),
    },
  })
}
