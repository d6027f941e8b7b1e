// Full: needs large tables, other processes, or failures of the database.
// PostgreSQL only: on SQLite, one transaction writes at a time.
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { nowIso } from '../../server/src/core/context.ts'
import { operatorContext } from '../../server/src/domains/accounts/shops.ts'
import { insertJourneyEntry } from '../../server/src/domains/journey/queries.ts'
import { insertCommission } from '../../server/src/domains/ledger/commissions.ts'
import { purgeExpired } from '../../server/src/operator/retention.ts'
import { rowOf, rowsOf } from '../support/inspect.ts'
import { insertKeys } from '../support/keys.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'
import { createShop } from '../support/tenants.ts'

const DAY = 86_400_000

const deadlocks = ({ sql }: TestServer) =>
  sql.prepare('select deadlocks::int from pg_stat_database where datname = current_database()').pluck().get()

test('old clicks of several shops are deleted while the shops report orders and clicks, without a deadlock', async () => {
  const server = await testServer({ config: { journeyRetentionDays: 7 } })
  const { shopId } = await createShop(server.deps, {
    name: 'Other',
    plan: 'ENTERPRISE',
    ownerEmail: 'other@shop.example',
  })
  const [key] = await insertKeys(await operatorContext(server.deps, shopId), 1)
  for (const one of [undefined, key]) {
    await withAffiliate(server, { ...(one && { key: one }), program: { cookieDurationDays: 7 } })
    await expectOk(server.request('POST', '/api/v1/events', { key: one, body: { type: 'click', ref: 'nisa-karim' } }))
  }
  await convert(server, { externalOrderId: 'a', amountCents: 1000, couponCode: 'NISA16' }, { key })
  const commission = rowOf(server, 'commissions', { shopId })
  const first = server.shop.shopId
  const [click] = rowsOf(server, 'journey', { shopId: first })
  server.clock.advance(30 * DAY)
  // Each transaction takes half a second or waits while the old clicks are deleted.
  server.sql.exec(`create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.5); return null; end $$;
      create trigger zz_slow after insert on commissions for each statement execute function slow()`)
  const occurredAt = nowIso(server.deps)
  const { db } = server
  const written = Promise.all([
    db.transact((trx) => insertCommission(trx, shopId, { ...commission, id: 'com_new', orderId: 'api:new' }), shopId),
    db.transact((trx) => insertJourneyEntry(trx, first, { ...click!, id: 'jrn_new', occurredAt }), first),
  ])
  await sleep(250)
  await purgeExpired(server.deps)
  await written
  // Sessions report what they have counted when they end.
  server.sql.exec(`select pg_terminate_backend(pid, 5000) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and state = 'idle'`)
  expect(deadlocks(server)).toBe(0)
  expect(rowsOf(server, 'journey').map(({ id }) => id)).toEqual(['jrn_new'])
  await server.close()
})
