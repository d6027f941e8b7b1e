import { spawnSync } from 'node:child_process'
import { runAutocannon } from './autocannon.ts'
import { runWrk } from './wrk.ts'

/** A request that is sent repeatedly: `<key>` is replaced by the next key, `<n>` by a unique number, `<page>` by 1 to 19. */
export interface Template {
  method: 'GET' | 'POST'
  path: string
  headers: Record<string, string>
  body?: string
}

export interface Job {
  url: string
  template: Template
  keys: string[]
  connections: number
  seconds: number
  /** Numbers are counted from here; ten digits, so that every request is equally long. */
  from: number
  /** Every response is written here, as a line `<status> <body>`. */
  record?: string
}

/** The results as seen by a client. */
export interface Load {
  requests: number
  perSecond: number
  p50Micros: number
  p99Micros: number
  /** Anything but a success. */
  wrong: number
}

const hasWrk = !process.env.BENCH_AUTOCANNON && spawnSync('wrk', ['-v']).error === undefined

/** Which program sends the load. */
export const generator = hasWrk ? 'wrk' : 'autocannon'

/** Sends a load from a separate process. */
export const load = (job: Job): Promise<Load> => (hasWrk ? runWrk(job) : runAutocannon(job))
