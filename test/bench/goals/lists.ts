import { deepStrictEqual } from 'node:assert'
import { compare } from '../harness/compare.ts'
import { type DataSet, sqliteData } from '../harness/data.ts'
import type { Template } from '../harness/load.ts'
import type { Options } from '../harness/options.ts'
import { printRates } from '../harness/rates.ts'
import { launchOther, launchOurs, type Subject } from '../harness/subject.ts'

export const LIST: Template = {
  method: 'GET',
  path: '/api/v1/commissions?limit=20',
  headers: { Authorization: 'Bearer <key>' },
}

/** P1: a list of 20 with its total, compared with the floor. */
export async function p1({ rounds, seconds }: Options): Promise<void> {
  const data = await sqliteData(10_000)
  const ours = await launchOurs({ DATABASE_URL: data.url })
  const floor = await launchOther('floor', 'floor/list.ts', { DATABASE_URL: data.url })
  await sameAnswer([ours, floor], data)
  const jobOf = () => ({ template: LIST, keys: data.keys, connections: 32, seconds })
  const measured = await compare([ours, floor], { jobOf, rounds, warmUpSeconds: 5 })
  printRates(
    { goal: 'P1', what: 'list of 20 with total, 10,000 rows', wanted: { least: 0.75 }, cpuMost: 1.35 },
    measured,
    [ours, floor],
  )
  await Promise.all([ours.stop(), floor.stop()])
}

/** P2: the same list with many more rows. */
export async function p2({ rounds, seconds, rows }: Options): Promise<void> {
  const small = await sqliteData(10_000)
  const large = await sqliteData(rows)
  const usual = await launchOurs({ DATABASE_URL: small.url })
  const grown = await launchOurs({ DATABASE_URL: large.url })
  const jobOf = (subject: Subject) => ({
    template: LIST,
    keys: (subject === usual ? small : large).keys,
    connections: 32,
    seconds,
  })
  const measured = await compare([grown, usual], { jobOf, rounds, warmUpSeconds: 5 })
  const what = `the same, ${rows.toLocaleString('en')} rows ÷ 10,000 rows`
  printRates({ goal: 'P2', what, wanted: { least: 0.9 } }, measured, [grown, usual])
  await Promise.all([grown.stop(), usual.stop()])
}

/** A floor with different responses would do different work. */
export async function sameAnswer(subjects: Subject[], { keys }: DataSet, path = LIST.path): Promise<void> {
  const answers = await Promise.all(
    subjects.map(async ({ url }) => {
      const response = await fetch(url + path, { headers: { Authorization: `Bearer ${keys[0]}` } })
      const names = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'x-request-id', 'content-type']
      return {
        status: response.status,
        has: names.map((name) => response.headers.has(name)),
        body: await response.text(),
      }
    }),
  )
  for (const other of answers) deepStrictEqual(other, answers[0])
}
