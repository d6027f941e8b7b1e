import { type Command, InvalidArgumentError } from 'commander'
import { encryptionKeySource, endFirstStart, readConfig, readDataLocation } from '../config.ts'
import type { Deps } from '../core/context.ts'
import { createDeps } from '../core/deps.ts'
import { openDatabase } from '../database/database.ts'
import type { SeedOptions } from './seed.ts'

interface Json {
  json?: boolean
}

const JSON_OPTION = ['--json', 'print one JSON object'] as const

/** Commands that back up, restore, check, copy and seed databases. Each loads its dependencies lazily. */
export function addDataCommands(program: Command): void {
  program
    .command('backup <file>')
    .description('write a consistent copy of a SQLite database, also while the server runs')
    .option(...JSON_OPTION)
    .action(async (file: string, { json }: Json) => {
      const config = readConfig()
      const { backup } = await import('../database/backup.ts')
      const { bytes, sha256 } = await backup(config.databaseUrl, file)
      const keptElsewhere = encryptionKeySource(config.dataDir)
      print(json, { file, bytes, sha256, encryptionKey: keptElsewhere }, [
        `${file}: ${bytes} bytes, checked.`,
        `SHA-256 ${sha256}, also in ${file}.sha256: keep both files together, and a copy of the checksum elsewhere.`,
        `It does not contain the encryption key, which is needed to decrypt webhook secrets. Back up ${keptElsewhere} too.`,
      ])
    })

  program
    .command('restore <file>')
    .description('replace a SQLite database with a backup; stop the server first')
    .option(...JSON_OPTION)
    .action(async (file: string, { json }: Json) => {
      const { restore } = await import('../database/backup.ts')
      // The encryption key may be lost; it is only checked when the server starts.
      const { replaced, isVerified } = await restore(file, readDataLocation().databaseUrl)
      print(json, { file, replaced: replaced ?? null, verified: isVerified }, [
        `Restored from ${file}.`,
        isVerified ? 'Its SHA-256 matches.' : `${file}.sha256 is missing: only its structure was checked.`,
        ...(replaced ? [`The replaced database is kept as ${replaced}.`] : []),
      ])
    })

  program
    .command('check [backup]')
    .description('check the consistency of the database or a backup; exits with 1 when it finds problems')
    .option('--recount', 'recount the rows of all lists first')
    .option(...JSON_OPTION)
    .action(async (file: string | undefined, { json, recount: again }: Json & { recount?: boolean }) => {
      const { check } = await import('./check.ts')
      const { describeCoverage: coverageOf } = await import('./check.ts')
      const { recount } = await import('./consistency.ts')
      const ofDatabase = () =>
        withDeps(async (deps) => {
          if (again) await recount(deps.config)
          return { report: await check(deps), covered: coverageOf({ url: deps.config.databaseUrl, key: true }) }
        })
      const { report, covered } = await (file === undefined ? ofDatabase() : checkBackup(file))
      const counts = `${report.audit.shops} shops, ${report.audit.rows} audit rows`
      const lines = report.ok
        ? [`No problems found: ${counts}.`, ...covered]
        : [...report.problems, `Problems found: ${counts}.`]
      print(json, report, lines)
      if (!report.ok) process.exitCode = 1
    })

  program
    .command('copy')
    .description('copy a database to an empty one, on the same database engine or the other one, and compare both')
    .requiredOption('--from <url>', 'file:<path> or postgres://…; stop its server first')
    .requiredOption('--to <url>', 'file:<path> or postgres://…')
    .option(...JSON_OPTION)
    .action(async ({ from, to, json }: Json & { from: string; to: string }) => {
      const { copyDatabase, checkSource: expectSource } = await import('../database/copy.ts')
      expectSource(from)
      for (const url of [from, to]) await withOpenDatabase(url, (db) => db.migrate())
      const tables = await copyDatabase(from, to)
      const rows = tables.reduce((sum, table) => sum + table.rows, 0)
      print(json, { rows, tables }, [
        ...tables.filter((table) => table.rows > 0).map(({ table, rows }) => `${table}\t${rows}`),
        `${rows} rows copied and compared. Run the new server with the same REFERRAL_ENCRYPTION_KEY.`,
      ])
    })

  addSeed(program)
}

async function checkBackup(file: string) {
  const { withBackup } = await import('../database/backup.ts')
  const { check } = await import('./check.ts')
  const { describeCoverage: coverageOf } = await import('./check.ts')
  return withBackup(file, (url, isVerified) =>
    withOpenDatabase(url, async (db) => {
      await db.migrate()
      return { report: await check({ db }), covered: coverageOf({ url, checksum: isVerified }) }
    }),
  )
}

function addSeed(program: Command): void {
  program
    .command('seed')
    .description('fill a shop with test data for load and growth tests; running it again does not create duplicates')
    .requiredOption('--shop <shopId>')
    .option('--affiliates <n>', 'how many', parseCount, 100)
    .option('--commissions <n>', 'how many', parseCount, 10_000)
    .option('--clicks <n>', 'how many', parseCount, 10_000)
    .option('--days <n>', 'number of days up to today', parseCount, 90)
    .option(...JSON_OPTION)
    .action(async ({ json, ...wish }: Json & SeedOptions) => {
      const { seed } = await import('./seed.ts')
      const startedAt = performance.now()
      await withDeps((deps) => seed(deps, wish, (line) => process.stderr.write(`${line}\n`)))
      const seconds = Math.round((performance.now() - startedAt) / 100) / 10
      print(json, { ...wish, seconds }, [`Seeded shop ${wish.shop} (${seconds} s).`])
    })
}

function print(json: boolean | undefined, value: object, lines: string[]): void {
  console.log(json ? JSON.stringify(value) : lines.join('\n'))
}

function parseCount(text: string): number {
  if (!/^\d{1,8}$/.test(text)) throw new InvalidArgumentError('It must be an integer of at most 99999999.')
  return Number(text)
}

const withDeps = <T>(work: (deps: Deps) => Promise<T>): Promise<T> => {
  const config = { ...readConfig(), logLevel: 'warn' }
  return withOpenDatabase(config.databaseUrl, async (db) => {
    await db.migrate()
    endFirstStart(config)
    return work(createDeps(config, db))
  })
}

async function withOpenDatabase<T>(
  url: string,
  work: (db: Awaited<ReturnType<typeof openDatabase>>) => Promise<T>,
): Promise<T> {
  const db = await openDatabase(url)
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}
