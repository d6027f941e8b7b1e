import { takeNumbers } from '../harness/compare.ts'
import { copyOf } from '../harness/data.ts'
import { load } from '../harness/load.ts'
import { launchOurs } from '../harness/subject.ts'
import { orderOf } from './conversions.ts'
import { LIST } from './lists.ts'

interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number }; children?: number[] }[]
  samples: number[]
  timeDeltas: number[]
}

/** Where CPU time is spent under a load of lists or orders: shares of self time by function and by package. */
export async function profile(what: 'lists' | 'orders', seconds: number): Promise<void> {
  const { data, remove } = await copyOf(10_000)
  const template = what === 'lists' ? LIST : orderOf(data)
  const ours = await launchOurs({ DATABASE_URL: data.url })
  const job = { url: ours.url, template, keys: data.keys, connections: 32 }
  await load({ ...job, seconds: 2, from: takeNumbers() })
  await ours.ask('startProfile')
  await load({ ...job, seconds, from: takeNumbers() })
  const { nodes, samples, timeDeltas } = (await ours.ask('stopProfile')) as Profile
  await ours.stop()
  remove()
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]))
  const byFunction = new Map<string, number>()
  const byPlace = new Map<string, number>()
  for (const [n, id] of samples.entries()) {
    const { functionName, url, lineNumber } = frames.get(id) ?? { functionName: '?', url: '', lineNumber: 0 }
    if (functionName === '(idle)') continue
    const place = placeOf(url) || functionName
    const micros = timeDeltas[n] ?? 0
    const name = `${functionName || '(anonymous)'} ${place}:${lineNumber + 1}`
    byFunction.set(name, (byFunction.get(name) ?? 0) + micros)
    byPlace.set(place, (byPlace.get(place) ?? 0) + micros)
  }
  printShares(byPlace, 25)
  printShares(byFunction, 45)
}

const placeOf = (url: string): string =>
  /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules)/.exec(url)?.[1] ?? url.replace(/^.*\/(server\/src\/)/, '$1')

function printShares(shares: Map<string, number>, most: number): void {
  const all = [...shares.values()].reduce((sum, one) => sum + one, 0)
  const sorted = [...shares].sort(([, a], [, b]) => b - a).slice(0, most)
  for (const [name, micros] of sorted) console.log(`${((micros / all) * 100).toFixed(1).padStart(6)}%  ${name}`)
  console.log()
}
