import { measure, spreadOf, takeNumbers } from '../harness/compare.ts'
import { copyOf } from '../harness/data.ts'
import { load } from '../harness/load.ts'
import type { Options } from '../harness/options.ts'
import { millis, print, say } from '../harness/report.ts'
import { launchOther, launchOurs, type Subject } from '../harness/subject.ts'
import { orderOf } from './conversions.ts'
import { LIST } from './lists.ts'

const megabytes = async (subject: Subject): Promise<number> => (await subject.usage()).rssBytes / 1e6

/** P10: from the start of a process to its first response; memory before and during a load. */
export async function p10({ rounds }: Options): Promise<void> {
  const { data, remove } = await copyOf(10_000)
  const env = { DATABASE_URL: data.url }
  const timed = async (start: () => Promise<Subject>) => {
    const began = performance.now()
    const subject = await start()
    await (await fetch(`${subject.url}/readyz`)).arrayBuffer()
    const micros = (performance.now() - began) * 1000
    await subject.stop()
    return micros
  }
  const startOurs = () => launchOurs(env)
  const startFloor = () => launchOther('floor', 'floor/start.ts', env)
  await timed(startOurs)
  const [ours, floor]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) ours.push(await timed(startOurs))
    floor.push(await timed(startFloor))
    if (round % 2 === 1) ours.push(await timed(startOurs))
  }
  print({
    goal: 'P10',
    what: 'start to first answer ÷ bare Node + better-sqlite3',
    wanted: { most: 2.5 },
    result: spreadOf(ours.map((micros, n) => micros / (floor[n] ?? Number.NaN))),
    ours: millis(spreadOf(ours).median),
    floor: millis(spreadOf(floor).median),
  })
  await memoryUnderLoad(env.DATABASE_URL)
  remove()

  async function memoryUnderLoad(url: string): Promise<void> {
    const subject = await launchOurs({ DATABASE_URL: url })
    const idle = await megabytes(subject)
    const most: number[] = []
    for (const template of [LIST, orderOf(data), LIST, orderOf(data)]) {
      await measure(subject, { template, keys: data.keys, connections: 32, seconds: 3 })
      most.push(await megabytes(subject))
    }
    await subject.stop()
    const memory = { goal: 'P10', unit: 'MB' }
    print({ ...memory, what: 'memory after the start', wanted: { most: 110 }, result: spreadOf([idle]) })
    print({ ...memory, what: 'memory under load', wanted: { most: 200 }, result: spreadOf([Math.max(...most)]) })
  }
}

/** P10: whether memory grows with the number of requests. Takes minutes, so it runs only when selected by name. */
export async function memory({ requests }: Options): Promise<void> {
  const { data, remove } = await copyOf(10_000)
  const ours = await launchOurs({ DATABASE_URL: data.url })
  const points: { at: number; megabytes: number }[] = []
  const until = performance.now() + 480_000
  let sent = 0
  while (sent < requests && performance.now() < until) {
    const job = { url: ours.url, keys: data.keys, connections: 32, seconds: 10, from: takeNumbers() }
    sent += (await load({ ...job, template: LIST })).requests
    points.push({ at: sent, megabytes: await megabytes(ours) })
  }
  await ours.stop()
  remove()
  const settled = points.slice(Math.floor(points.length / 3))
  say(points.map((point) => `${Math.round(point.at / 1000)}k ${point.megabytes.toFixed(0)} MB`).join(', '))
  console.log(`P10  memory over ${sent} requests: ${slopeOf(settled).toFixed(1)} MB per 100,000 in the last two thirds`)
}

/** Least squares, in megabytes per 100,000 requests. */
function slopeOf(points: { at: number; megabytes: number }[]): number {
  const mean = (values: number[]) => values.reduce((sum, one) => sum + one, 0) / values.length
  const [x, y] = [mean(points.map(({ at }) => at)), mean(points.map((point) => point.megabytes))]
  const over = points.reduce((sum, { at, megabytes }) => sum + (at - x) * (megabytes - y), 0)
  return (over / points.reduce((sum, { at }) => sum + (at - x) ** 2, 0)) * 100_000
}
