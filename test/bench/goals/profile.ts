import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { takeNumbers } from '../harness/compare.ts'
import { sqliteData } from '../harness/data.ts'
import { load, type Template } from '../harness/load.ts'
import { launchOurs } from '../harness/subject.ts'
import { LIST } from './lists.ts'

interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number }; children?: number[] }[]
  samples: number[]
  timeDeltas: number[]
}

/** Where the processor goes under load: shares of self time by function and by package. */
export async function profile(template: Template = LIST, seconds = 5): Promise<void> {
  const data = await sqliteData(10_000)
  const folder = mkdtempSync(join(tmpdir(), 'referral-profile-'))
  const ours = await launchOurs({ DATABASE_URL: data.url }, { node: ['--cpu-prof', `--cpu-prof-dir=${folder}`] })
  await load({ url: ours.url, template, keys: data.keys, connections: 32, seconds, from: takeNumbers() })
  await ours.stop()
  const [file = ''] = readdirSync(folder)
  const { nodes, samples, timeDeltas }: Profile = JSON.parse(readFileSync(join(folder, file), 'utf8'))
  rmSync(folder, { recursive: true, force: true })
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
  for (const [name, micros] of sorted) console.log(`${((micros / all) * 100).toFixed(1).padStart(6)} %  ${name}`)
  console.log()
}
