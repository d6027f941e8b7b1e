import { globSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, resolve } from 'node:path'
import { defineConfig } from 'vitest/config'
import { whyNoPostgres } from './test/support/postgres-cluster.ts'

const FILES = 'test/**/*.test.ts'
/** A comment of its own in a test file, with the reason behind it. */
const ONLY = /^\/\/ (SQLite|PostgreSQL) only: /m

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
if (missing) console.warn(`skipped: the tests on PostgreSQL, because ${missing}`)

const files = globSync(FILES, { exclude: ['**/node_modules/**'] })
const storing = files.filter((file) => stores(resolve(file)))
const filesOn = (engine: string) =>
  storing.filter((file) => (ONLY.exec(readFileSync(file, 'utf8'))?.[1] ?? engine) === engine)

// Files share a process: loading the server or the document for each of them took most of the time.
const common = { pool: 'forks', isolate: false, testTimeout: 20_000, hookTimeout: 30_000 } as const
const recipes = [
  'test/docs/snippets.test.ts',
  'test/{sdk,webhook-verifier}/readme.test.ts',
  'test/**/recipes/*.test.ts',
]
const pure = {
  test: { ...common, name: 'pure', include: [FILES], exclude: ['**/node_modules/**', ...storing, ...recipes] },
}
// The code that the documentation shows reads its secret while it is loaded, so each test file loads it again.
const shown = { test: { ...common, name: 'recipes', isolate: true, include: recipes } }
const sqlite = { test: { ...common, name: 'sqlite', include: filesOn('SQLite') } }
const postgres = {
  test: {
    ...common,
    name: 'postgres',
    include: filesOn('PostgreSQL'),
    globalSetup: ['test/support/postgres.ts'],
    env: { TEST_ENGINE: 'postgres' },
  },
}

export default defineConfig({
  test: {
    projects: [pure, shown, sqlite, ...(missing ? [] : [postgres])],
    // More than there are cores: much of a test is waiting for other processes and for timeouts.
    maxWorkers: availableParallelism() + 2,
  },
})
