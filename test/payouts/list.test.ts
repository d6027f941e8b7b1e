import { describe, expect } from 'vitest'
import { rejectWrites, removeTable } from '../support/faults.ts'
import { auditLog } from '../support/inspect.ts'
import type { TestServer } from '../support/server.ts'
import { test } from '../support/test.ts'
import { addAffiliate, addCommission, OCTOBER } from './rows.ts'

let id: string
test.beforeAll(async ({ server, client }) => {
  addCommission(server, { affiliateId: addAffiliate(server) })
  id = (await client.payouts.create(OCTOBER)).id
})

describe('the audit', () => {
  test('the access is recorded before the read, the result after it', async ({ server, client }) => {
    const audited = auditLog(server)
    await client.payouts.list({ id, include: 'lines' })
    const actor = `key:${server.shop.keyId}`
    expect(audited()).toMatchObject([
      { action: 'payouts.accessed', subjectId: id, actor, data: { page: 1, limit: 20, include: 'lines' } },
      { action: 'payouts.listed', subjectId: id, actor, data: { batches: 1, total: 1 } },
    ])
  })

  const rejectAudit = (action: string) => (server: TestServer) => rejectWrites(server, 'insert', 'audits', { action })

  test.for<[what: string, damage: (server: TestServer) => () => void, code: string, written: string[]]>([
    ['the access', rejectAudit('payouts.accessed'), 'audit_unavailable', []],
    ['the completion', rejectAudit('payouts.listed'), 'audit_unavailable', ['payouts.accessed']],
    ['the read', (server) => removeTable(server, 'payoutBatches'), 'storage_unavailable', ['payouts.accessed']],
  ])('503 and nothing shown when %s fails', async ([_, damage, code, written], { server, client }) => {
    const audited = auditLog(server)
    const restore = damage(server)
    const reply = await server.request('GET', '/api/v1/payouts')
    restore()
    expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([503, code])
    expect(Object.keys(reply.body)).toEqual(['error'])
    expect(audited().map((row) => row.action)).toEqual(written)
    expect((await client.payouts.list()).data).toMatchObject([{ id }])
  })
})
