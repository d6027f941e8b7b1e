import { fork } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { whyNoPostgres } from '../support/postgres-cluster.ts'
import type { Engine, LongTest } from './promise.ts'

/** One line for each promise, with its figure: pnpm test:long [name…] [--scale 0.1]. Ends with 1 when one is broken. */
const FOLDER = new URL('promises/', import.meta.url)
const ENGINES = { sqlite: 'SQLite', postgres: 'PostgreSQL' }

interface Verdict {
  kept?: boolean
  missing?: boolean
  says: string
}

interface Chosen {
  name: string
  promise: LongTest
  engine: Engine
}

let running: number | undefined
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    end(running)
    process.exit(1)
  })
}

/** Ends a process with all that it has started: it leads a group of its own. */
function end(pid: number | undefined): void {
  try {
    if (pid) process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

function judge({ name, promise, engine }: Chosen, scale: string): Promise<Verdict> {
  const child = fork(fileURLToPath(new URL('one.ts', import.meta.url)), [name, engine, scale], {
    detached: true,
    env: { ...process.env, TEST_ENGINE: engine, NODE_NO_WARNINGS: '1' },
  })
  running = child.pid
  return new Promise<Verdict>((answer) => {
    const minutes = setTimeout(
      () => answer({ says: `not done within ${promise.minutes} minutes` }),
      promise.minutes * 60_000,
    )
    child.once('message', (said) => answer(said as Verdict))
    child.once('exit', (code, signal) => answer({ says: `it ended with ${code ?? signal} and said nothing` }))
    child.once('exit', () => clearTimeout(minutes))
  }).finally(() => end(child.pid))
}

async function choose(names: string[]): Promise<Chosen[]> {
  const known = readdirSync(FOLDER).map((file) => file.replace(/\.ts$/, ''))
  const unknown = names.filter((name) => !known.includes(name))
  if (unknown.length > 0) throw new Error(`There is no ${unknown.join(', ')}; there are ${known.join(', ')}.`)
  const chosen: Chosen[] = []
  for (const name of known.filter((one) => names.length === 0 || names.includes(one))) {
    const { promise } = (await import(`${FOLDER}${name}.ts`)) as { promise: LongTest }
    for (const engine of promise.engines ?? (['sqlite'] as const)) chosen.push({ name, promise, engine })
  }
  return chosen
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { scale: { type: 'string', default: '1' }, engine: { type: 'string' } },
})
const noPostgres = await whyNoPostgres()
const startedAt = performance.now()
let broken = 0
for (const chosen of await choose(positionals)) {
  const { promise, engine, name } = chosen
  if (values.engine && values.engine !== engine) continue
  const at = performance.now()
  const isAbsent = engine === 'postgres' && noPostgres
  const said = isAbsent ? { missing: true, says: noPostgres } : await judge(chosen, values.scale)
  const where = promise.engines ? `, ${ENGINES[engine]}` : ''
  const seconds = Math.round((performance.now() - at) / 1000)
  const word = said.kept ? '' : said.missing ? 'SKIPPED, because ' : 'BROKEN: '
  console.log(`${promise.says}${where}: ${word}${said.says} (${name}, ${seconds} s)`)
  if (!said.kept && !said.missing) broken++
}
console.log(`${broken} broken; ${Math.round((performance.now() - startedAt) / 1000)} s in all`)
process.exit(broken > 0 ? 1 : 0)
