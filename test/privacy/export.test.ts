import { describe, expect } from 'vitest'
import { admin } from '../support/owner.ts'
import type { TestServer } from '../support/server.ts'
import { convert, expectOk, newAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'
import { EMAIL, plantEverywhere, SPELLINGS, TRACE, tracesIn } from './support/everywhere.ts'

interface Line {
  table: string
  // biome-ignore lint/suspicious/noExplicitAny: rows of any table
  row: any
}

async function exportOf(server: TestServer, email: string): Promise<Line[]> {
  const { status, headers, body } = await admin(server, 'POST', '/privacy/exports', { email })
  expect([status, headers.get('Content-Type')], JSON.stringify(body)).toEqual([200, 'application/x-ndjson'])
  const [first, ...lines] = String(body)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(first).toMatchObject({ export: 'person', shopId: server.shop.shopId, email })
  expect(lines.pop()).toEqual({ end: { rows: lines.length } })
  return lines
}

const rowsIn = (lines: Line[], table: string) => lines.filter((line) => line.table === table).map(({ row }) => row)

test('an export contains every row that mentions the person, whatever spelling was sent', async ({ server }) => {
  const { programId } = await plantEverywhere(server)
  await expectOk(server.request('PATCH', `/api/v1/programs?id=${programId}`, { body: { description: `Ask ${EMAIL}` } }))
  const lines = await exportOf(server, SPELLINGS.decomposed)
  const exported = lines.map(({ table, row }) => `${table} ${row.id ?? row.orderId ?? row.key ?? ''}`)
  expect(new Set(exported).size).toBe(exported.length)
  const traces = tracesIn(server).filter((text) => !text.startsWith('programs'))
  expect(traces.length).toBeGreaterThan(20)
  for (const text of traces) {
    const [, table = '', row = ''] = /^(\w+): (.*)$/s.exec(text) ?? []
    const { id, orderId, key } = JSON.parse(row)
    expect(exported).toContain(`${table} ${id ?? orderId ?? key ?? ''}`)
  }
  // Without an address: the customer id and the session are those of the person.
  expect(rowsIn(lines, 'orders').map(({ facts }) => facts.order.externalOrderId)).toContain('c-5')
  expect(rowsIn(lines, 'journey').filter(({ sessionId }) => sessionId === 'session-1').length).toBeGreaterThan(2)
  expect(JSON.stringify(lines)).toMatch(TRACE)
})

test('an export of another person contains nothing of the person', async ({ server }) => {
  await expectOk(
    convert(server, {
      externalOrderId: 'x-1',
      amountCents: 100,
      customerEmail: 'someone@example.com',
      customerId: 'x',
    }),
  )
  const lines = await exportOf(server, 'someone@example.com')
  expect(JSON.stringify(lines)).not.toMatch(TRACE)
  expect(rowsIn(lines, 'orders').map(({ orderId }) => orderId)).toEqual(['api:x-1'])
  expect(await exportOf(server, 'nobody@example.com')).toEqual([])
})

test('a customer id that several addresses share identifies nobody', async ({ server }) => {
  const guest = { amountCents: 100, customerId: 'guest', sessionId: 'kiosk' }
  await expectOk(convert(server, { ...guest, externalOrderId: 'g-1', customerEmail: 'first@example.com' }))
  await expectOk(convert(server, { ...guest, externalOrderId: 'g-2', customerEmail: 'second@example.com' }))
  await expectOk(convert(server, { ...guest, externalOrderId: 'g-3' }))
  const lines = await exportOf(server, 'first@example.com')
  expect(rowsIn(lines, 'orders').map(({ orderId }) => orderId)).toEqual(['api:g-1'])
  expect(JSON.stringify(lines)).not.toContain('second@')
})

describe('an affiliate', () => {
  test('is exported with decrypted payee details and commissions', async ({ server }) => {
    const { id } = await newAffiliate(server, { email: 'noor@example.com', name: 'Noor Haddad', code: 'NAAR16' })
    await expectOk(admin(server, 'PUT', `/affiliates/${id}/payee`, { method: 'PAYPAL', email: 'noor@paypal.example' }))
    await expectOk(convert(server, { externalOrderId: 'n-1', amountCents: 10_000, couponCode: 'NAAR16' }))
    const alias = { affiliateId: id, kind: 'CODE', value: 'NOOR10' }
    await expectOk(server.request('POST', '/api/v1/affiliates/aliases', { body: alias }))
    const lines = await exportOf(server, 'Noor+affiliate@example.com')
    expect(rowsIn(lines, 'affiliates')).toMatchObject([{ id, name: 'Noor Haddad', email: 'noor@example.com' }])
    expect(rowsIn(lines, 'affiliateAliases')).toMatchObject([alias])
    expect(rowsIn(lines, 'payees')).toMatchObject([{ details: { method: 'PAYPAL', email: 'noor@paypal.example' } }])
    expect(rowsIn(lines, 'commissions')).toMatchObject([{ affiliateId: id, externalOrderId: 'n-1' }])
    expect(rowsIn(lines, 'audits').map(({ action }) => action)).toContain('payee.set')
  })
})

test('400 for an invalid email address', async ({ owner }) => {
  for (const email of ['jo', 'a@', '@b', ' <> ', 'a b'])
    expect((await owner('POST', '/privacy/exports', { email })).headers.get('X-Error-Code')).toBe('invalid_body')
})
