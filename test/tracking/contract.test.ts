import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { snapshot } from '../contract/fixture.ts'
import { withoutMemory, withStalledBody } from '../support/bodies.ts'
import type { DocumentedOperation } from '../support/document.ts'
import { failStatement, loseCommits, removeTable, whileBroken } from '../support/faults.ts'
import { updateRows } from '../support/inspect.ts'
import { type Reply, type TestServer, testServer } from '../support/server.ts'
import { withAffiliate } from '../support/shop.ts'
import { callSite, openSite, siteOperations } from '../support/site.ts'

let server: TestServer
beforeAll(async () => {
  server = await testServer()
  await withAffiliate(server)
  await openSite(server)
})
afterAll(() => server.close())

const whileShop = (changed: object, restored: object, op: DocumentedOperation) => {
  updateRows(server, 'shops', changed)
  return whileBroken(
    () => updateRows(server, 'shops', restored),
    () => callSite(server, op),
  )
}

const causes: Record<string, (op: DocumentedOperation) => Promise<Reply>> = {
  body_timeout: (op) => withStalledBody(server, ({ raw }) => callSite(server, op, { raw })),
  server_busy: (op) => withoutMemory(server, () => callSite(server, op)),
  invalid_json: (op) => callSite(server, op, { raw: '{"ref": ' }),
  body_too_large: (op) => callSite(server, op, { raw: JSON.stringify({ ref: 'x'.repeat(65_536) }) }),
  invalid_body: (op) => callSite(server, op, { body: {} }),
  unknown_property: (op) => callSite(server, op, { body: { utm_source: 'news' } }),
  invalid_parameter: (op) =>
    callSite(server, op, { query: op.method === 'GET' ? '?path=//evil.example' : '?dryRun=1' }),
  origin_refused: (op) => callSite(server, op, { headers: { Origin: 'https://evil.example' } }),
  tracking_off: (op) => whileShop({ siteDomains: '[]' }, { siteDomains: '["shop.example"]' }, op),
  shop_suspended: (op) => whileShop({ suspendedAt: '2026-11-02T12:00:00.000Z' }, { suspendedAt: null }, op),
  plan_required: (op) => whileShop({ plan: 'GROWTH' }, { plan: 'PROFESSIONAL' }, op),
  api_disabled: (op) => whileShop({ apiEnabled: 0 }, { apiEnabled: 1 }, op),
  method_not_allowed: (op) => callSite(server, op, { method: 'DELETE' }),
  rate_limited: (op) => {
    server.exhausted.add(op.method === 'GET' ? 'public:unknown' : 'site:unknown')
    return whileBroken(
      () => server.exhausted.clear(),
      () => callSite(server, op),
    )
  },
  internal_error: (op) => {
    const { consume } = server.limiter
    server.limiter.consume = () => {
      throw new TypeError('a bug')
    }
    return whileBroken(
      () => {
        server.limiter.consume = consume
      },
      () => callSite(server, op),
    )
  },
  storage_unavailable: (op) => whileBroken(removeTable(server, 'shops'), () => callSite(server, op)),
  outcome_unknown: (op) => whileBroken(loseCommits(server), () => callSite(server, op)),
}

describe.each(siteOperations.map((op) => [op.id, op] as const))('%s', (_id, op) => {
  for (const [status, codes] of Object.entries(op.responses)) {
    for (const code of codes) {
      test(`${status} ${code}`, async () => {
        const before = snapshot(server)
        const reply = await causes[code]?.(op)
        expect([String(reply?.status), reply?.headers.get('X-Error-Code')]).toEqual([status, code])
        if (op.sentences[code]) expect(reply?.body.error).toBe(op.sentences[code])
        expect(snapshot(server)).toBe(before)
      })
    }
  }

  test('503 whichever statement fails: nothing changed, and the next try succeeds', async () => {
    const before = snapshot(server)
    for (let n = 1; ; n++) {
      const restore = failStatement(server, n)
      const { status } = await callSite(server, op)
      restore()
      if (status < 400) break
      expect([n, status]).toEqual([n, 503])
      expect(snapshot(server), `statement ${n}`).toBe(before)
    }
    expect(snapshot(server) === before).toBe(op.id === 'getTrackingScript')
  })
})
