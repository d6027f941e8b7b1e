import { fork } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { whyNoPostgres } from '../support/postgres-cluster.ts'
import type { Engine, LongTest } from './guarantee.ts'

/** Prints one line per guarantee, with its figures: pnpm test:long [name…] [--scale 0.1]. Exits with 1 when one fails. */
const FOLDER = new URL('guarantees/', import.meta.url)
const ENGINES = { sqlite: 'SQLite', postgres: 'PostgreSQL' }

interface Verdict {
  kept?: boolean
  missing?: boolean
  summary: string
}

interface Chosen {
  name: string
  guarantee: LongTest
  engine: Engine
}

let running: number | undefined
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    end(running)
    process.exit(1)
  })
}

/** Kills a process and its children, which share a process group. */
function end(pid: number | undefined): void {
  try {
    if (pid) process.kill(-pid, 'SIGKILL')
  } catch {
    // The process has ended.
  }
}

function judge({ name, guarantee, engine }: Chosen, scale: string): Promise<Verdict> {
  const child = fork(fileURLToPath(new URL('one.ts', import.meta.url)), [name, engine, scale], {
    detached: true,
    env: { ...process.env, TEST_ENGINE: engine, NODE_NO_WARNINGS: '1' },
  })
  running = child.pid
  return new Promise<Verdict>((resolve) => {
    const minutes = setTimeout(
      () => resolve({ summary: `timed out after ${guarantee.minutes} minutes` }),
      guarantee.minutes * 60_000,
    )
    child.once('message', (verdict) => resolve(verdict as Verdict))
    child.once('exit', (code, signal) => resolve({ summary: `exited with ${code ?? signal} without a result` }))
    child.once('exit', () => clearTimeout(minutes))
  }).finally(() => end(child.pid))
}

async function choose(names: string[]): Promise<Chosen[]> {
  const known = readdirSync(FOLDER).map((file) => file.replace(/\.ts$/, ''))
  const unknown = names.filter((name) => !known.includes(name))
  if (unknown.length > 0) throw new Error(`Unknown: ${unknown.join(', ')}. Known: ${known.join(', ')}.`)
  const chosen: Chosen[] = []
  for (const name of known.filter((one) => names.length === 0 || names.includes(one))) {
    const { guarantee } = (await import(`${FOLDER}${name}.ts`)) as { guarantee: LongTest }
    for (const engine of guarantee.engines ?? (['sqlite'] as const)) chosen.push({ name, guarantee, engine })
  }
  return chosen
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { scale: { type: 'string', default: '1' }, engine: { type: 'string' } },
})
const noPostgres = await whyNoPostgres()
const startedAt = performance.now()
let failed = 0
for (const chosen of await choose(positionals)) {
  const { guarantee, engine, name } = chosen
  if (values.engine && values.engine !== engine) continue
  const at = performance.now()
  const isMissing = engine === 'postgres' && noPostgres
  const verdict = isMissing ? { missing: true, summary: noPostgres } : await judge(chosen, values.scale)
  const where = guarantee.engines ? `, ${ENGINES[engine]}` : ''
  const seconds = Math.round((performance.now() - at) / 1000)
  const outcome = verdict.kept ? '' : verdict.missing ? 'SKIPPED, because ' : 'FAILED: '
  console.log(`${guarantee.title}${where}: ${outcome}${verdict.summary} (${name}, ${seconds} s)`)
  if (!verdict.kept && !verdict.missing) failed++
}
console.log(`${failed} failed; ${Math.round((performance.now() - startedAt) / 1000)} s in total`)
process.exit(failed > 0 ? 1 : 0)
