// Full: needs large tables, other processes, or failures of the database.
import { describe, expect } from 'vitest'
import { ANALYSIS_LIMIT } from '../../server/src/database/sqlite.ts'
import { purgeExpired } from '../../server/src/operator/retention.ts'
import { databaseFile, engine } from '../support/database.ts'
import { allOperations } from '../support/document.ts'
import { admin, ID, type OwnerServer } from '../support/owner.ts'
import { expectOk } from '../support/shop.ts'
import { test } from '../support/test.ts'
import { everyCall, everyPage, exampleOf, type PlannedCall, STORE_SECRET, STRIPE_SECRET } from './plans/calls.ts'
import { openPostgresWork, type Work } from './plans/postgres-work.ts'
import { fillLikeYears } from './plans/shop-data.ts'
import { openSqliteWork } from './plans/sqlite-work.ts'
import { type Statement, watchStatements } from './plans/statements.ts'

/** Rows that a statement may read while others wait: a deep page, or the lines of some batches, are a thousand. */
const MAX_ROWS = 1500

/** Statements that read as much as they report. */
const EXPECTED: Record<string, RegExp> = {
  'the counts of each day, program and status': /^select substr\(scope, 5\) as "day".* from "rowCounts"/,
  'whether a list has so many customers that it is read as a report':
    /^select "id" from ("customers" where|\(select "id", "kind").* limit \S+ offset \S+$/,
  'all connections of a shop, from an index alone': /^select count\(\*\) as "total" from "connections"/,
}

/** The smallest id is the first entry of an index, which only the plans of PostgreSQL show. */
const ONLY_ON_POSTGRES = /select min\("affiliateId"\)/

const OF_A_PERSON = ['exportPerson', 'erasePerson']

let statements: Statement[]
const called = new Set<string>()
const opened = new Set<string>()
const unanswered: string[] = []

test.beforeAll(async ({ ownerServer: server }) => {
  const secrets = {
    storeWebhookSecret: STORE_SECRET,
    stripeWebhookSecret: STRIPE_SECRET,
    siteDomains: ['shop.example'],
  }
  await expectOk(admin(server, 'PATCH', '/settings', secrets))
  await server.client.events.click({ ref: 'nisa-karim', sessionId: 's' })
  await server.client.events.pageView({ url: 'https://shop.example/' })
  // Rows of every table, to be copied.
  const connection = { kind: 'product', value: '7007', affiliateId: ID.affiliate }
  await expectOk(admin(server, 'POST', '/connections', connection))
  for (const id of ['refundCommission', 'cancelStoreOrder', 'recordStoreOrder']) await exampleOf(id)(server)
  const watched = watchStatements(server)
  const make = async ({ id, name, call }: PlannedCall) => {
    watched.causing(name)
    const { status, body } = await call(server)
    called.add(id)
    if (status >= 400) unanswered.push(`${name}: ${status} ${body?.error}`)
  }
  const [onFew, onMany] = [true, false].map((isOnFew) =>
    everyCall().filter(({ id }) => OF_A_PERSON.includes(id) === isOnFew),
  )
  // These read the whole shop, which would take minutes.
  for (const one of onFew!) await make(one)
  fillLikeYears(server)
  if (engine === 'postgres') server.sql.exec('analyze')
  for (const { path, open } of everyPage(server)) {
    watched.causing(path)
    const status = await open()
    if (status !== 200) unanswered.push(`${path}: ${status}`)
    opened.add(path)
  }
  for (const one of onMany!) await make(one)
  watched.causing('retention')
  await purgeExpired({
    ...server.deps,
    config: { ...server.deps.config, journeyRetentionDays: 1000, pendingRefundRetentionDays: 1000 },
  })
  statements = [...watched.seen.values()]
}, 300_000)

test('every operation of the document is called, with every filter, and succeeds', () => {
  expect([...called].sort()).toEqual(allOperations.map(({ id }) => id).sort())
  expect(unanswered).toEqual([])
  expect(statements.length).toBeGreaterThan(250)
  expect(opened.size).toBeGreaterThan(60)
})

/** What is wrong with the plans of the statements that others wait for. */
async function judged(workOf: (statement: Statement) => Work | Promise<Work>): Promise<string[]> {
  const wrong: string[] = []
  for (const statement of statements) {
    const { sql, isReport, cause } = statement
    if (isReport || /^insert into "\w+" \([^)]*\) values [^a-z]*$/i.test(sql)) continue
    if (Object.values(EXPECTED).some((text) => text.test(sql))) continue
    if (engine === 'sqlite' && ONLY_ON_POSTGRES.test(sql)) continue
    // The rows of an insert exist by now; what it selects is run again.
    const { rows, where } = await workOf({
      ...statement,
      sql: sql.replace(/^insert into "\w+" \([^)]*\)\s+select/i, 'select'),
    })
    if (rows > MAX_ROWS) wrong.push(`${rows} rows, ${where}, caused by ${cause}: ${sql.replace(/\s+/g, ' ')}`)
  }
  return wrong
}

const walking = (values: unknown[]): Statement => {
  const [shopId, value] = engine === 'postgres' ? ['$1', '$2'] : ['?', '?']
  const sql = `select id from journey where "shopId" = ${shopId} and type = 'click' and device = ${value}
    order by "occurredAt" desc, id desc limit 1`
  return { sql, values: [values], isReport: false, cause: 'nobody' }
}

describe.runIf(engine === 'sqlite')('SQLite', () => {
  const counts = new Map<string, number>()
  const workOf = async (server: OwnerServer, state: () => void) => {
    state()
    const work = openSqliteWork(databaseFile(server.url), counts)
    try {
      expect(work.workOf(walking([server.shop.shopId, 'none'])).rows).toBeGreaterThan(100_000)
      return await judged(work.workOf)
    } finally {
      work.close()
    }
  }

  test('no statement scans a table without statistics, as after a fresh install', async ({ ownerServer: server }) => {
    expect(
      await workOf(server, () => server.sql.exec('analyze; delete from sqlite_stat1; delete from sqlite_stat4')),
    ).toEqual([])
  })

  test('no statement scans a table with statistics of a sample, as the server collects them', async ({
    ownerServer: server,
  }) => {
    const sample = `analyze; delete from sqlite_stat1; delete from sqlite_stat4; pragma analysis_limit = ${ANALYSIS_LIMIT}; analyze`
    expect(await workOf(server, () => server.sql.exec(sample))).toEqual([])
  })

  test('no statement scans a table with statistics', async ({ ownerServer: server }) => {
    expect(await workOf(server, () => server.sql.exec('analyze'))).toEqual([])
  })
})

describe.runIf(engine === 'postgres')('PostgreSQL', () => {
  test('no statement scans a table, with custom or generic plans', {
    timeout: 240_000,
  }, async ({ ownerServer: server }) => {
    const work = await openPostgresWork(server.url)
    try {
      expect((await work.workOf(walking([server.shop.shopId, 'none']))).rows).toBeGreaterThan(100_000)
      expect(await judged(work.workOf)).toEqual([])
    } finally {
      await work.close()
    }
  })
})
