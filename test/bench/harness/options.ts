import { parseArgs } from 'node:util'

export interface Options {
  /** The goals to run, in lower case; if empty, all except the long ones. */
  names: string[]
  rounds: number
  /** How long each server is loaded in a round. */
  seconds: number
  /** How many commissions the large database has. */
  rows: number
  /** How many requests the memory test sends. */
  requests: number
  /** The engines of `pages`, in lower case. */
  engines: string[]
  /** A part of the paths that `pages` requests, or of the test files of P15. */
  only: string
  /** Whether the results become the table of the documentation. */
  write: boolean
}

export function readOptions(): Options {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '2' },
      rows: { type: 'string', default: '1000000' },
      requests: { type: 'string', default: '1000000' },
      engine: { type: 'string', default: 'sqlite,postgresql' },
      only: { type: 'string', default: '' },
      write: { type: 'boolean', default: false },
    },
  })
  return {
    names: positionals.map((name) => name.toLowerCase()),
    rounds: Number(values.rounds),
    seconds: Number(values.seconds),
    rows: Number(values.rows),
    requests: Number(values.requests),
    engines: values.engine.split(','),
    only: values.only,
    write: values.write,
  }
}
