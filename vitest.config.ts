import { globSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, resolve } from 'node:path'
import { defineConfig } from 'vitest/config'
import { whyNoChromium } from './test/support/chromium.ts'
import { whyNoPgBouncer } from './test/support/pgbouncer.ts'
import { whyNoPostgres } from './test/support/postgres-cluster.ts'
import { whyNoRedis } from './test/support/redis.ts'

/** A comment of its own in a test file, with the reason behind it. */
const ONLY = /^\/\/ (SQLite|PostgreSQL) only: /m
/** The first comment of a file that only `test:full` runs, because it depends on time, processes or tools, or takes long. */
const FULL = /^\/\/ Full: /
/** What storage can break. `test` runs these files on PostgreSQL as well; `test:full` runs every file on both. */
const STORAGE =
  /^test\/(orders|commissions|payouts|privacy|database)\/|\/webhooks\/(delivery|extended)|races|all-or-nothing|idempotency|broken-storage|list-totals|pagination|conformance\/in-process/

/** Whether a file reaches the test database, through whatever it imports. Everything else runs once. */
function stores(file: string, seen = new Set<string>()): boolean {
  if (seen.has(file)) return false
  seen.add(file)
  if (file.endsWith('test/support/database.ts')) return true
  const text = readFileSync(file, 'utf8')
  return [...text.matchAll(/^(?:import|export) (?!type )[^'"]*?from '(\.[^']+\.ts)'/gms)].some(([, to = '']) =>
    stores(resolve(dirname(file), to), seen),
  )
}

const missing = process.env.TEST_POSTGRES_URL ? undefined : await whyNoPostgres()
if (missing && process.env.CI) throw new Error(`The tests on PostgreSQL cannot run, because ${missing}.`)
if (missing) console.warn(`skipped: the tests on PostgreSQL, because ${missing}`)

// Timeouts end what hangs, also on a busy machine; no test depends on them.
// Files share a process: loading the server or the document for each of them took most of the time.
const common = { pool: 'forks', isolate: false, testTimeout: 60_000, hookTimeout: 120_000 } as const
const recipes = ['test/docs/snippets.test.ts', 'test/sdk/readme.test.ts', 'test/webhook-verifier/readme.test.ts']

/** In CI, what only `test:full` needs must be there as well: a skipped test would be green without having run. */
function requireTools(): void {
  const lacks = [whyNoRedis(), whyNoChromium(), whyNoPgBouncer()].filter((reason) => reason !== undefined)
  if (lacks.length > 0) throw new Error(`The whole test suite cannot run, because ${lacks.join(', and ')}.`)
}

/** The projects of `test`, or with `--mode full` of `test:full`. */
function projectsOf(isFull: boolean) {
  const textOf = (file: string) => readFileSync(file, 'utf8')
  const files = globSync('test/**/*.test.ts', { exclude: ['**/node_modules/**'] }).filter(
    (file) => isFull || !FULL.test(textOf(file)),
  )
  const isRecipe = (file: string) => recipes.includes(file) || file.includes('/recipes/')
  const storing = files.filter((file) => !isRecipe(file) && stores(resolve(file)))
  const onlyOf = (file: string) => ONLY.exec(textOf(file))?.[1]
  const sqlite = storing.filter((file) => onlyOf(file) !== 'PostgreSQL')
  const postgres = storing.filter((file) =>
    onlyOf(file) ? onlyOf(file) === 'PostgreSQL' : isFull || STORAGE.test(file),
  )
  return [
    { test: { ...common, name: 'pure', include: files.filter((file) => !isRecipe(file) && !storing.includes(file)) } },
    // The code that the documentation shows reads its secret while it is loaded, so each test file loads it again.
    { test: { ...common, name: 'recipes', isolate: true, include: files.filter(isRecipe) } },
    { test: { ...common, name: 'sqlite', include: sqlite } },
    ...(missing
      ? []
      : [
          {
            test: {
              ...common,
              name: 'postgres',
              include: postgres,
              globalSetup: ['test/support/postgres.ts'],
              env: { TEST_ENGINE: 'postgres' },
            },
          },
        ]),
  ]
}

export default defineConfig(({ mode }) => {
  const isFull = mode === 'full'
  if (isFull && process.env.CI) requireTools()
  return {
    test: {
      projects: projectsOf(isFull),
      reporters: ['default', './test/support/skipped.ts'],
      // More than there are cores: much of a test is waiting for other processes and for timeouts.
      maxWorkers: availableParallelism() + 2,
    },
  }
})
