import { globSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { defineConfig } from 'vitest/config'
import { whyNoPostgres } from './test/support/postgres-cluster.ts'

const FILES = 'test/**/*.test.ts'
const SQLITE_ONLY = /^\/\/ SQLite only: /m

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
const onPostgres = globSync(FILES, { exclude: ['**/node_modules/**'] }).filter(
  (file) => stores(resolve(file)) && !SQLITE_ONLY.test(readFileSync(file, 'utf8')),
)

// Files share a process: loading the server for each of them would take most of the time.
const common = { pool: 'forks', isolate: false, testTimeout: 20_000, hookTimeout: 30_000 } as const
const sqlite = { test: { ...common, name: 'sqlite', include: [FILES] } }
const postgres = {
  test: {
    ...common,
    name: 'postgres',
    include: onPostgres,
    globalSetup: ['test/support/postgres.ts'],
    env: { TEST_ENGINE: 'postgres' },
  },
}

export default defineConfig({ test: { projects: missing ? [sqlite] : [sqlite, postgres] } })
