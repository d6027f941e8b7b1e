import { afterEach, beforeEach, expect, test } from 'vitest'
import { checkEncryptionKey } from '../../server/src/core/installation.ts'
import { createVault } from '../../server/src/core/vault.ts'
import { operatorContext } from '../../server/src/domains/accounts/shops.ts'
import { erasePersonCompletely } from '../../server/src/domains/privacy/erasure.ts'
import { describeRotation, isRotated, rotateVault, SEALED_COLUMNS } from '../../server/src/operator/vault-rotation.ts'
import { setPayee } from '../payouts/payments.ts'
import { addAffiliate, addCommission, OCTOBER } from '../payouts/rows.ts'
import { ok, storeOf } from '../stores/fixture.ts'
import { orderPayload } from '../stores/payloads.ts'
import { allowTransactions } from '../support/faults.ts'
import { dumpOf, rowOf } from '../support/inspect.ts'
import { admin } from '../support/owner.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'

const NEW = new Uint8Array(32).fill(9)
let server: TestServer
let old: Uint8Array
beforeEach(async () => {
  server = await testServer()
  old = server.deps.config.encryptionKeys[0]!
})
afterEach(() => server.close())

/** Restarts the server with other keys, newest first. */
const useKeys = (...keys: Uint8Array[]) => {
  server.deps.vault = createVault(keys)
}

/** The columns that contain sealed values. */
const sealedColumns = () =>
  new Set(
    [...dumpOf(server)].flatMap(([table, rows]) =>
      rows.flatMap((row) =>
        Object.entries(JSON.parse(row)).flatMap(([column, value]) =>
          /^v1\.[\w-]{38,}$/.test(String(value)) ? [`${table}.${column}`] : [],
        ),
      ),
    ),
  )

async function eraseUntil(transactions: number) {
  const ctx = await operatorContext(server.deps, server.shop.shopId)
  const restore = allowTransactions(server, transactions)
  await erasePersonCompletely(ctx, 'buyer@example.com').catch(() => {})
  restore()
}

test('vault rotate re-encrypts every sealed value, continues when it was killed, and says when the old key may go', async () => {
  const store = await storeOf(server)
  const hook = { url: 'https://hooks.example.com/a', secret: 'first secret' }
  const { id: hookId } = await expectOk(server.request('POST', '/api/v1/webhooks', { body: hook }))
  await expectOk(server.owner('PATCH', `/webhooks/${hookId}`, { secret: 'second secret' }))
  const affiliateId = addAffiliate(server)
  const payee = { method: 'SEPA', name: 'Zoë', iban: 'DE02120300000000202051', country: 'DE', townName: 'Berlin' }
  await expectOk(server.owner('PUT', `/affiliates/${affiliateId}/payee`, payee))
  addCommission(server, { affiliateId, currency: 'EUR' })
  const { id: batchId } = await server.client.payouts.create({ ...OCTOBER, currency: 'EUR' })
  const debtor = { name: 'Shop', iban: 'DE02120300000000202051' }
  await expectOk(server.owner('PUT', '/payout-files/october', { batchId, format: 'sepa', debtor }))
  await ok(admin(server, 'PATCH', '/settings', { stripeWebhookSecret: 'whsec_0123456789abcdef' }))
  await ok(store.notify('orders-paid', orderPayload({ id: 9001, email: 'buyer@example.com' })))
  await eraseUntil(1)
  await checkEncryptionKey(server.deps, 'The key')
  const names = SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`)
  expect([...sealedColumns()].sort()).toEqual([...names].sort())

  useKeys(NEW, old)
  const restore = allowTransactions(server, 2)
  await expect(rotateVault(server.deps)).rejects.toThrow('killed')
  restore()
  const left = await rotateVault(server.deps, true)
  const outdated = Object.values(left.earlier).reduce((sum, count) => sum + count, 0)
  expect([left.rotated, isRotated(left), outdated]).toEqual([0, false, names.length - 2])
  expect(describeRotation(left).join()).toContain('may not go')
  const rotated = await rotateVault(server.deps)
  expect(rotated).toMatchObject({ rotated: outdated, earlier: {}, unreadable: {}, erasures: 1 })
  expect([isRotated(rotated), rowOf(server, 'audits', { action: 'vault.rotated' }).actor]).toEqual([true, 'operator'])

  useKeys(NEW)
  await checkEncryptionKey(server.deps, 'The key')
  await ok(store.notify('orders-paid', orderPayload({ id: 9002 })))
  expect((await expectOk(server.owner('GET', `/affiliates/${affiliateId}/payee`))).method).toBe('SEPA')
  const file = (await server.owner('GET', '/payout-files/october/lines')).body
  expect(file).toMatchObject({ debtor, data: [{ payee: { name: 'Zoë', iban: payee.iban } }] })
  await eraseUntil(100)
  expect(rowOf(server, 'erasures', {}).finishedAt).not.toBeNull()
  expect(await rotateVault(server.deps, true)).toMatchObject({ earlier: {}, unreadable: {} })
})

test('vault rotate does not let a key go that a value needs', async () => {
  const affiliateId = addAffiliate(server)
  await setPayee(server, affiliateId)
  for (const [keys, counts] of [
    [[NEW, old], { earlier: { 'payees.details': 1 }, unreadable: {} }],
    [[NEW], { earlier: {}, unreadable: { 'payees.details': 1 } }],
  ] as const) {
    useKeys(...keys)
    const report = await rotateVault(server.deps, true)
    expect(report).toMatchObject(counts)
    expect([isRotated(report), describeRotation(report).join()]).toEqual([false, expect.stringContaining('may not go')])
  }
})
