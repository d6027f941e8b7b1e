// Full: needs large tables, other processes, or failures of the database.
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import SQLite from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Finished, run, startServer } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

let folder: ReturnType<typeof temporaryFolder>
let env: Record<string, string>
let umask: number
beforeEach(async () => {
  // The default of most systems, with which files are readable by all users unless a mode is given.
  umask = process.umask(0o022)
  folder = temporaryFolder()
  env = { REFERRAL_DATA_DIR: join(folder.path, 'data'), REFERRAL_DEMO: '0' }
  expect((await run(['shop', 'create', '--name', 'Hats'], env)).code).toBe(0)
  const db = new SQLite(join(folder.path, 'data', 'referral.db'))
  // Large enough that copying it takes a while.
  db.exec(`create table ballast (bytes); with recursive n(i) as (select 1 union all select i + 1 from n where i < 250)
    insert into ballast select zeroblob(100000) from n`)
  db.close()
})
afterEach(() => {
  process.umask(umask)
  folder.remove()
})

/** Runs a command while polling all files of some folders, and returns every mode that each had. */
async function watched(args: string[], folders: string[]): Promise<{ done: Finished; seen: Map<string, Set<string>> }> {
  const seen = new Map<string, Set<string>>()
  let done: Finished | undefined
  void run(args, env).then((finished) => {
    done = finished
  })
  while (!done) {
    for (const path of folders) for (const name of readdirSync(path)) note(seen, path, name)
    await nextTurn()
  }
  return { done, seen }
}

function note(seen: Map<string, Set<string>>, path: string, name: string): void {
  const stat = statSync(join(path, name), { throwIfNoEntry: false })
  if (!stat?.isFile()) return
  const modes = seen.get(name) ?? new Set()
  seen.set(name, modes.add((stat.mode & 0o777).toString(8)))
}

const modesOf = (seen: Map<string, Set<string>>, names: RegExp) =>
  Object.fromEntries([...seen].filter(([name]) => names.test(name)).map(([name, modes]) => [name, [...modes].join()]))

test('a backup and its temporary files are readable only by their owner, from the first byte', async () => {
  const target = join(folder.path, 'backups')
  mkdirSync(target)
  const { done, seen } = await watched(['backup', join(target, 'b.db')], [target])
  expect(done.code, done.stderr).toBe(0)
  const modes = modesOf(seen, /./)
  expect(Object.keys(modes)).toContain('b.db.part')
  expect(modes).toEqual(Object.fromEntries(Object.keys(modes).map((name) => [name, '600'])))
})

test('a restored database is readable only by its owner, whatever the mode of the backup', async () => {
  const backup = join(folder.path, 'b.db')
  expect((await run(['backup', backup], env)).code).toBe(0)
  chmodSync(backup, 0o644)
  const data = join(folder.path, 'data')
  const { done, seen } = await watched(['restore', backup], [data])
  expect(done.code, done.stderr).toBe(0)
  const modes = modesOf(seen, /referral\.db/)
  expect(Object.keys(modes)).toContain('referral.db.restoring')
  expect(modes).toEqual(Object.fromEntries(Object.keys(modes).map((name) => [name, '600'])))
})

test('demo.env does not keep the mode of an existing file', async () => {
  const data = join(folder.path, 'data')
  writeFileSync(join(data, 'demo.env.new'), '', { mode: 0o644 })
  const server = await startServer({ ...env, REFERRAL_DEMO: '1' })
  await server.stop()
  expect(statSync(join(data, 'demo.env')).mode & 0o777).toBe(0o600)
})
