import { deepStrictEqual } from 'node:assert'
import { join } from 'node:path'
import { compare, median, ratios, takeNumbers } from '../harness/compare.ts'
import { copyOf, type DataSet } from '../harness/data.ts'
import type { Template } from '../harness/load.ts'
import type { Options } from '../harness/options.ts'
import { printRates } from '../harness/rates.ts'
import { millis, print, say } from '../harness/report.ts'
import { launchOther, launchOurs, type Subject } from '../harness/subject.ts'
import { answersAfterCommit, countBefore, verify } from '../harness/verify.ts'

/** An order with a discount code and a customer, and with a new number and key each time. */
export const orderOf = ({ codes }: DataSet): Template => ({
  method: 'POST',
  path: '/api/v1/events',
  headers: { Authorization: 'Bearer <key>', 'Content-Type': 'application/json', 'Idempotency-Key': 'bench-<n>' },
  body: JSON.stringify({
    type: 'conversion',
    externalOrderId: 'bench-<n>',
    orderName: '#<n>',
    amountCents: 12_345,
    currency: 'USD',
    couponCode: codes[0],
    customerEmail: 'buyer-<n>@example.com',
  }),
})

interface Pair {
  ours: Subject
  floor: Subject
  /** The database of the server; the floor writes to a copy. */
  data: DataSet
  /** File for the responses of the server. */
  record: string
  end: () => Promise<void>
}

/** Both on the same file system, each with a copy of the small database. */
async function startPair(floorEnv: Record<string, string>): Promise<Pair> {
  const [own, other] = [await copyOf(10_000), await copyOf(10_000)]
  const ours = await launchOurs({ DATABASE_URL: own.data.url })
  const floor = await launchOther('floor', 'floor/conversion.ts', { DATABASE_URL: other.data.url, ...floorEnv })
  return {
    ours,
    floor,
    data: own.data,
    record: join(own.folder, 'answers'),
    end: async () => {
      await Promise.all([ours.stop(), floor.stop()])
      own.remove()
      other.remove()
    },
  }
}

/** P3: durable conversions, 32 connections. */
export async function p3({ rounds, seconds }: Options): Promise<void> {
  const pair = await startPair({})
  const { ours, floor, data, record } = pair
  await sameReply([ours, floor], data)
  const before = countBefore(data)
  const template = orderOf(data)
  const jobOf = (subject: Subject) => ({
    template,
    keys: data.keys,
    connections: 32,
    seconds,
    ...(subject === ours && { record }),
  })
  const measured = await compare([ours, floor], { jobOf, rounds, warmUpSeconds: 5 })
  printRates(
    { goal: 'P3', what: 'durable conversions, 32 connections', wanted: { least: 0.75 }, cpuMost: 1.5 },
    measured,
    [ours, floor],
  )
  say(await answersAfterCommit(ours.url, data, template))
  say(await verify(data, before, record))
  await pair.end()
}

/** P4: one connection, one order at a time. */
export async function p4({ rounds, seconds }: Options): Promise<void> {
  const pair = await startPair({ SINGLE: '1' })
  const { ours, floor, data, record } = pair
  const before = countBefore(data)
  const jobOf = (subject: Subject) => ({
    template: orderOf(data),
    keys: data.keys,
    connections: 1,
    seconds,
    ...(subject === ours && { record }),
  })
  const measured = await compare([ours, floor], { jobOf, rounds, warmUpSeconds: 1 })
  print({
    goal: 'P4',
    what: 'p50 of a durable conversion, 1 connection',
    wanted: { most: 1.2 },
    result: ratios(measured, [ours, floor], (sample) => sample.p50Micros),
    ours: millis(median(measured, ours, (sample) => sample.p50Micros)),
    floor: millis(median(measured, floor, (sample) => sample.p50Micros)),
    cpu: {
      ours: median(measured, ours, (sample) => sample.cpuMicros),
      floor: median(measured, floor, (sample) => sample.cpuMicros),
    },
  })
  say(await verify(data, before, record))
  await pair.end()
}

/** The floor decides and responds like the server, except for the id of the new row. */
export async function sameReply(subjects: Subject[], data: DataSet): Promise<void> {
  const { path, headers, body = '' } = orderOf(data)
  const number = String(takeNumbers())
  const fill = (text: string) => text.replaceAll('<n>', number).replaceAll('<key>', data.keys[0] ?? '')
  const filled = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, fill(value)]))
  const send = ({ url }: Subject) => fetch(url + path, { method: 'POST', headers: filled, body: fill(body) })
  const replies = []
  for (const subject of subjects) {
    const first = await send(subject)
    const text = await first.text()
    const again = await (await send(subject)).text()
    deepStrictEqual(again, text, `${subject.name} answers a repetition with something else`)
    replies.push({ status: first.status, body: text.replace(/"id":"[^"]+"/, '"id":""') })
  }
  for (const reply of replies) deepStrictEqual(reply, replies[0])
}
