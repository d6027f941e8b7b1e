import { describe, expect, test } from 'vitest'
import { operations } from '../support/document.ts'
import { failStatement, loseCommits, rejectWrites } from '../support/faults.ts'
import type { TestServer } from '../support/server.ts'
import { type Call, callOperation, exampleServer, ID, snapshot } from './fixture.ts'

const changes = operations.filter((op) => op.path.startsWith('/api/v1/') && op.method !== 'GET')

/** Where the document's first example would change nothing on this server. */
const CHANGE: Record<string, Call> = {
  updateAffiliate: { body: { status: 'REJECTED' } },
  assignCoupon: { body: { affiliateId: ID.affiliate } },
}

describe.each(changes.map((op) => [op.id, op] as const))('%s', (id, op) => {
  const change = (server: TestServer) => callOperation(server, op, CHANGE[id])

  test('503 when the audit cannot be written: nothing changed, nothing to send, and a retry succeeds', async () => {
    const server = await exampleServer()
    const before = snapshot(server)
    const restore = rejectWrites(server, 'insert', 'audits')
    const { status, headers } = await change(server)
    expect([status, headers.get('X-Error-Code'), headers.get('Retry-After')]).toEqual([503, 'audit_unavailable', '1'])
    expect(snapshot(server)).toBe(before)
    restore()
    expect((await change(server)).status).toBeLessThan(300)
    await server.close()
  })

  test('503 outcome_unknown when the connection is lost during the commit', async () => {
    const server = await exampleServer()
    loseCommits(server)
    const keyed = op.method === 'POST' && { headers: { 'Idempotency-Key': 'contract' } }
    const { status, headers, body } = await callOperation(server, op, { ...CHANGE[id], ...keyed })
    expect([status, headers.get('X-Error-Code'), headers.get('Retry-After')]).toEqual([503, 'outcome_unknown', '1'])
    expect(body.error.includes('Retry with the same Idempotency-Key')).toBe(op.method === 'POST')
    await server.close()
  })

  test('503 whichever statement fails: nothing changed, and a retry succeeds', async () => {
    const server = await exampleServer()
    const before = snapshot(server)
    let failed = 0
    for (let n = 1; ; n++) {
      const restore = failStatement(server, n)
      const { status } = await change(server)
      restore()
      if (status < 300) break
      expect(status, `statement ${n}`).toBe(503)
      expect(snapshot(server), `statement ${n}`).toBe(before)
      failed++
    }
    expect(failed).toBeGreaterThan(1)
    expect(snapshot(server)).not.toBe(before)
    await server.close()
  })
})

test('503 outcome_unknown names the Idempotency-Key only when the request had one', async () => {
  const server = await exampleServer()
  loseCommits(server)
  const { body } = await server.request('POST', '/api/v1/programs', { body: { name: 'Friends 2' } })
  expect(body.error).toMatch(/Fetch the resource before you retry\.$/)
  await server.close()
})
