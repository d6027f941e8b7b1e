import { existsSync } from 'node:fs'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { encryptionKeySource, endFirstStart, findEncryptionKeys, readConfig, readDataLocation } from '../config.ts'
import { createDeps, type Deps } from '../core/context.ts'
import { createApiSwitch, isEncryptionKeyValid } from '../core/installation.ts'
import { createVault } from '../core/vault.ts'
import { findSchemaProblem } from '../database/migrate.ts'
import { openDatabase, withConnection } from '../database/open.ts'
import * as shops from '../domains/accounts/shops.ts'
import type { LostPayments } from '../domains/payments/lost-payments.ts'
import type { RepeatedErasures } from '../domains/privacy/erasure-log.ts'
import type { OldRows } from './old-rows.ts'
import type { SeedOptions } from './seed.ts'
import {
  type AddCommand,
  addTenantCommands,
  type CommandWork,
  describeRepeated,
  type Print,
  requireServerKey,
} from './tenant-commands.ts'

/** Commands for the operator. They access the database directly, even while the server runs. */
export function addOperatorCommands(program: Command): void {
  const add: AddCommand = <Options>(parent: Command, usage: string, description: string, work: CommandWork<Options>) =>
    parent
      .command(usage)
      .description(description)
      .option('--json', 'print one JSON object')
      .action(async (...args) => {
        const command = args.at(-1) as Command
        const options = command.opts<Options & { json?: boolean }>()
        const print: Print = (value, text) => console.log(options.json ? JSON.stringify(value) : text)
        if (needsShop(parent, usage)) requireDatabase(readDataLocation().databaseUrl)
        await withDeps((deps) => work(deps, print, options, command.args))
      })

  add(program, 'migrate', 'migrate the database schema to the latest version', async (_deps, print) =>
    print({ migrated: true }, 'The schema is up to date.'),
  )

  addTenantCommands(program, add)
  add(program.command('api').description('turn the whole API on or off'), 'on', 'turn the API on', switchApi(true))
  add(program.commands.find((command) => command.name() === 'api')!, 'off', 'turn the API off', switchApi(false))
  addDataCommands(program)
}

/** Commands for an existing shop, which a new database does not have. */
const needsShop = (parent: Command, usage: string) =>
  ['owner', 'key'].includes(parent.name()) || usage.includes('<shopId>')

/** A command run in the wrong folder must not create an empty database. */
function requireDatabase(databaseUrl: string): void {
  const file = databaseUrl.startsWith('file:') ? databaseUrl.slice('file:'.length) : undefined
  if (file !== undefined && !existsSync(file))
    throw new Error(`There is no database ${file}. Run the command where the server runs, or set REFERRAL_DATA_DIR.`)
}

const switchApi = (on: boolean) => async (deps: Deps, print: Print) => {
  await createApiSwitch(deps).set(on)
  print({ api: on ? 'on' : 'off' }, `The API is ${on ? 'on' : 'off'}.`)
}

interface Json {
  json?: boolean
}

const JSON_OPTION = ['--json', 'print one JSON object'] as const

/** Commands that back up, restore, check, copy and seed databases. Each loads its dependencies lazily. */
function addDataCommands(program: Command): void {
  program
    .command('backup <file>')
    .description('write a consistent copy of a SQLite database, even while the server runs')
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
    .description(
      'replace a SQLite database with a backup, and repeat the erasures and carry over the sent payments since then; stop the server first',
    )
    .option(...ACCEPT_OPTION)
    .option(...JSON_OPTION)
    .action(async (file: string, { json, acceptRepeatedPayments }: Json & Acceptance) => {
      const { restore } = await import('../database/backup.ts')
      const { findLostPayments } = await import('../domains/payments/lost-payments.ts')
      const { databaseUrl } = readDataLocation()
      let lost: LostPayments | undefined
      const { replaced, isVerified } = await restore(file, databaseUrl, {
        backup: requireKeyOfBackup,
        both: async ({ current, backup }) => {
          lost = await findLostPayments(current, backup).catch(() => undefined)
          if (lost) await requireAcceptance(lost, acceptRepeatedPayments)
        },
      })
      const carried = await carryOver(lost, replaced && `file:${replaced}`)
      const { erasures, lines } = await repeatErasuresOf(replaced, databaseUrl)
      const payments = lost && carried ? { lost, ...carried.payments } : null
      print(json, { file, replaced: replaced ?? null, verified: isVerified, payments, erasures }, [
        `Restored from ${file}.`,
        isVerified ? 'Its SHA-256 matches.' : `${file}.sha256 is missing: only its structure was checked.`,
        ...(replaced ? [`The replaced database is kept as ${replaced}.`] : []),
        ...(carried?.lines ?? [PAYMENTS_UNKNOWN]),
        ...lines,
      ])
      if (erasures && erasures.failed.length > 0) process.exitCode = 1
    })

  program
    .command('payouts')
    .description('repair payouts after a restore')
    .command('recover')
    .description('carry over the sent payments that a restored database lacks from the one it replaced')
    .requiredOption('--from <url>', 'file:<path> or postgres://… of the replaced database, or of its dump')
    .option(...ACCEPT_OPTION)
    .option(...JSON_OPTION)
    .action(async ({ from, json, acceptRepeatedPayments }: Json & Acceptance & { from: string }) => {
      const { checkSource } = await import('../database/copy.ts')
      const { findLostPayments } = await import('../domains/payments/lost-payments.ts')
      const { databaseUrl } = readDataLocation()
      requireDatabase(databaseUrl)
      checkSource(from)
      const lost = await findLostPayments(from, databaseUrl)
      await requireAcceptance(lost, acceptRepeatedPayments)
      const carried = await carryOver(lost, from)
      print(json, { lost, ...carried?.payments }, carried?.lines ?? [])
    })

  program
    .command('check [backup]')
    .description('check the consistency of the database or a backup; exits with 1 when it finds problems')
    .option('--recount', 'recount the rows of all lists first')
    .option(...JSON_OPTION)
    .action(async (file: string | undefined, { json, recount: recountFirst }: Json & { recount?: boolean }) => {
      const { report, covered } = await (file === undefined ? checkDatabase(recountFirst) : checkBackup(file))
      const counts = `shops ${report.audit.shops}, audit rows ${report.audit.rows}`
      const lines = report.ok
        ? [`No problems found: ${counts}.`, ...covered]
        : [...report.problems, `Problems found: ${counts}.`]
      print(json, report, lines)
      if (!report.ok) process.exitCode = 1
    })

  program
    .command('copy')
    .description(
      'copy a database to an empty one, on the same database engine or the other one, and compare both; continues an interrupted copy',
    )
    .requiredOption('--from <url>', 'file:<path> or postgres://…; stop its server first')
    .requiredOption('--to <url>', 'file:<path> or postgres://…')
    .option(...JSON_OPTION)
    .action(async ({ from, to, json }: Json & { from: string; to: string }) => {
      const { checkSource, copyDatabase } = await import('../database/copy.ts')
      checkSource(from)
      for (const url of [from, to]) await withOpenDatabase(url, (db) => db.migrate())
      const tables = await copyDatabase(from, to, toStandardError)
      const rows = tables.reduce((sum, table) => sum + table.rows, 0)
      print(json, { rows, tables }, [
        ...tables.filter((table) => table.rows > 0).map(({ table, rows }) => `${table}\t${rows}`),
        `${rows} rows copied and compared. Run the new server with the same REFERRAL_ENCRYPTION_KEY.`,
      ])
    })

  program
    .command('vault')
    .description('manage the encryption key')
    .command('rotate')
    .description(
      'encrypt all stored secrets with the first of the encryption keys, in small transactions while the server runs; continues after an interruption, and exits with 1 while an earlier key is needed',
    )
    .option('--dry-run', 'count the values, and change nothing')
    .option(...JSON_OPTION)
    .action(async ({ dryRun, json }: Json & { dryRun?: boolean }) => {
      requireDatabase(readDataLocation().databaseUrl)
      const { describeRotation, isRotated, rotateVault } = await import('./vault-rotation.ts')
      const report = await withDeps(async (deps) => {
        await requireServerKey(deps)
        return rotateVault(deps, dryRun)
      })
      print(json, { ...report, complete: isRotated(report) }, describeRotation(report))
      if (!isRotated(report)) process.exitCode = 1
    })

  addRetention(program)
  addSeed(program)
}

/** Restores without the key if it is lost. @throws Error for a key other than the backup's. */
async function requireKeyOfBackup(backupUrl: string): Promise<void> {
  const keys = findEncryptionKeys()
  const source = encryptionKeySource(readDataLocation().dataDir)
  if (!keys) {
    toStandardError(
      `Warning: there is no encryption key: neither REFERRAL_ENCRYPTION_KEY nor ${source}. The server starts only with the key of the backup.`,
    )
  } else if (!(await withConnection(backupUrl, (db) => isEncryptionKeyValid(db, createVault(keys)))))
    throw new Error(
      `Nothing was changed: ${source} does not match the encryption key of the backup. Set the key of its time, or append it to REFERRAL_ENCRYPTION_KEY after a comma.`,
    )
}

interface Acceptance {
  acceptRepeatedPayments?: boolean
}

const ACCEPT_OPTION = [
  '--accept-repeated-payments',
  'continue although payments were sent or paid since the backup',
] as const

/** @throws Error that lists the payments that the backup lacks, unless they are accepted. */
async function requireAcceptance(lost: LostPayments, isAccepted: boolean | undefined): Promise<void> {
  const { describeLost, isNothingLost } = await import('../domains/payments/lost-payments.ts')
  if (isAccepted || isNothingLost(lost)) return
  throw new Error(
    [
      'Nothing was changed: the backup lacks payments, which could be sent again.',
      ...describeLost(lost),
      'Repeat the command with --accept-repeated-payments: it carries the sent payments over, and lists those that it cannot.',
    ].join('\n'),
  )
}

/** Carries lost payments over from the replaced database. Undefined if they are unknown. */
async function carryOver(lost: LostPayments | undefined, replaced: string | undefined) {
  if (!lost || replaced === undefined) return undefined
  const { carryPaymentsOver, describeCarried, describeLost, isNothingLost } = await import(
    '../domains/payments/lost-payments.ts'
  )
  if (isNothingLost(lost)) return { payments: { carriedOver: 0, left: [] }, lines: ['No payment is missing.'] }
  const payments = await withDeps((deps) => carryPaymentsOver(deps, replaced, lost)).catch((error) => {
    throw new Error(
      `The backup is restored, but sent payments since then are not carried over: run payouts recover --from ${replaced} before files are sent. ${error.message}`,
    )
  })
  return { payments, lines: [...describeLost(lost), ...describeCarried(payments)] }
}

const PAYMENTS_UNKNOWN =
  'There is no readable database to compare with. If payments were sent since the backup, do not send them again.'

/** Repeats erasures that the replaced database contains and the restored one does not. Null if they are unknown. */
async function repeatErasuresOf(
  replaced: string | undefined,
  restoredUrl: string,
): Promise<{ erasures: RepeatedErasures | null; lines: string[] }> {
  const none: RepeatedErasures = { repeated: 0, unnecessary: 0, failed: [] }
  if (replaced === undefined) return { erasures: null, lines: [REPEAT_FROM_LOG] }
  const { listErasures } = await import('../domains/privacy/queries.ts')
  const log = await withConnection(`file:${replaced}`, listErasures).catch(() => undefined)
  if (!log) return { erasures: null, lines: ['The replaced database cannot be read.', REPEAT_FROM_LOG] }
  const restored = await withConnection(restoredUrl, listErasures).catch(() => [])
  const ended = new Set(restored.filter(({ finishedAt }) => finishedAt !== null).map(({ id }) => id))
  if (log.every(({ id }) => ended.has(id))) return { erasures: none, lines: [] }
  const { repeatErasures } = await import('../domains/privacy/erasure-log.ts')
  const erasures = await withDeps((deps) => repeatErasures(deps, log)).catch((error) => {
    throw new Error(`The backup is restored, but erasures since then are not repeated. ${error.message}`)
  })
  return { erasures, lines: describeRepeated(erasures) }
}

const REPEAT_FROM_LOG =
  'If persons were erased since the backup, repeat their erasures: `referral-server privacy repeat` with a log of `privacy log`.'

/** Prints a progress line. */
const toStandardError = (line: string) => void process.stderr.write(`${line}\n`)

const KINDS: OldRows[] = ['responses', 'journey', 'deliveries', 'orders']

interface RetentionOptions extends Json {
  kind: OldRows[]
  before: string
  shop?: string
  dryRun?: boolean
}

function addRetention(program: Command): void {
  program
    .command('retention')
    .description('delete old rows, in small transactions while the server runs; take a backup first')
    .addOption(new Option('--kind <kind...>', 'what to delete').choices(KINDS).makeOptionMandatory())
    .requiredOption('--before <date>', 'YYYY-MM-DD; earlier rows are deleted', parseDate)
    .option('--shop <shopId>', 'one shop; all by default')
    .option('--dry-run', 'count the rows, and delete nothing')
    .option(...JSON_OPTION)
    .action(async ({ json, kind: kinds, dryRun = false, before, shop }: RetentionOptions) => {
      const { checkAge, countOldRows, deleteOldRows } = await import('./old-rows.ts')
      await withDeps(async (deps) => {
        const selections = kinds.map((kind) => ({ kind, before, shop }))
        for (const selection of selections) await checkAge(deps, selection)
        const data = []
        for (const selection of selections)
          data.push({ kind: selection.kind, rows: await (dryRun ? countOldRows : deleteOldRows)(deps, selection) })
        const lines = data.flatMap(({ kind, rows }) =>
          Object.entries(rows).map(([table, count]) => [kind, table, count].join('\t')),
        )
        print(json, { before, dryRun, data }, lines)
      })
    })
}

function parseDate(text: string): string {
  if (!/^\d{4}-\d\d-\d\d$/.test(text) || Number.isNaN(Date.parse(text))) {
    throw new InvalidArgumentError('It must be a date, such as 2024-01-31.')
  }
  return new Date(text).toISOString()
}

/** Neither creates nor migrates the database: after a failed restore, an empty schema would pass. */
async function checkDatabase(recountFirst = false) {
  const { check, describeCoverage, recount } = await import('./check.ts')
  const config = { ...readConfig(undefined, 'rejected'), logLevel: 'warn' }
  const problem = await withConnection(config.databaseUrl, findSchemaProblem)
  if (problem) throw new Error(`The database ${problem}`)
  return withOpenDatabase(config.databaseUrl, async (db) => {
    const deps = createDeps(config, db)
    if (recountFirst) await recount(config)
    const report = await check(deps, toStandardError)
    const covered = describeCoverage({ url: config.databaseUrl, key: true })
    if ((await shops.list(deps)).length > 0) return { report, covered }
    const problems = [...report.problems, 'The database contains no shop. Correct DATABASE_URL or restore a backup.']
    return { report: { ...report, ok: false, problems }, covered }
  })
}

async function checkBackup(file: string) {
  const { withBackup } = await import('../database/backup.ts')
  const { check, describeCoverage } = await import('./check.ts')
  return withBackup(file, async (url, isVerified) => {
    const report = await withOpenDatabase(url, async (db) => {
      await db.migrate()
      return check({ db }, toStandardError)
    })
    return { report, covered: [...describeCoverage({ url, checksum: isVerified }), ...(await lackedBy(url))] }
  })
}

/** Payments in the current database that a backup lacks. */
async function lackedBy(backupUrl: string): Promise<string[]> {
  const { describeLost, findLostPayments } = await import('../domains/payments/lost-payments.ts')
  const { databaseUrl } = readDataLocation()
  if (databaseUrl.startsWith('file:') && !existsSync(databaseUrl.slice('file:'.length))) return []
  const lost = await findLostPayments(databaseUrl, backupUrl).catch(() => undefined)
  if (!lost) return ['Its payments were not compared: the current database cannot be read.']
  const lines = describeLost(lost)
  return lines.length > 0 ? ['Compared with the current database, the backup lacks:', ...lines] : []
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
    .action(async ({ json, ...options }: Json & SeedOptions) => {
      const { seed } = await import('./seed.ts')
      const startedAt = performance.now()
      await withDeps((deps) => seed(deps, options, (line) => process.stderr.write(`${line}\n`)))
      const seconds = Math.round((performance.now() - startedAt) / 100) / 10
      print(json, { ...options, seconds }, [`Seeded shop ${options.shop} (${seconds} s).`])
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
