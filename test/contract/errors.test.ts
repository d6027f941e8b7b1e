import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as shops from '../../server/src/domains/accounts/shops.ts'
import { operations } from '../support/document.ts'
import { causes, sharedCauses, type World } from './causes.ts'
import { exampleServer, snapshot } from './fixture.ts'

let world: World

beforeAll(async () => {
  const server = await exampleServer()
  const scopeless = await server.createShop('PROFESSIONAL', ['webhooks:read'])
  const switchedOff = await server.createShop()
  await shops.update(server.deps, switchedOff.shopId, { apiEnabled: false })
  const suspended = await server.createShop()
  await shops.suspend(server.deps, suspended.shopId)
  world = {
    suspended,
    server,
    scopeless,
    switchedOff,
    other: await server.createShop(),
    starter: await server.createShop('STARTER'),
  }
})
afterAll(() => world.server.close())

/** all-or-nothing.test.ts causes these for every change. */
const testedElsewhere = new Set(['audit_unavailable', 'outcome_unknown'])

/** These cases change rows before the request is rejected: themselves, or by recording an access. */
const CHANGES =
  /concurrent|taken|reused|already_paid|not_payable|threshold|mixed|total_too_large|commission_percent_required|refund_limit|ambiguous|alias_limit|program_has_terms|(getUnpaid|listPayouts) server_busy/

for (const op of operations.filter((one) => !one.isPublic)) {
  describe(op.id, () => {
    for (const [status, codes] of Object.entries(op.responses)) {
      for (const code of codes) {
        const cause = causes[`${op.id} ${code}`] ?? sharedCauses[code]
        // A key with only this scope is rejected everywhere else.
        if (code === 'scope_missing' && op.scope === 'webhooks:read') continue
        if (testedElsewhere.has(code)) continue
        test(`${status} ${code}`, async () => {
          const before = CHANGES.test(`${op.id} ${code}`) ? undefined : snapshot(world.server)
          const reply = await cause?.(world, op)
          expect(reply, `nothing brings ${code} about`).toBeDefined()
          expect({ status: String(reply?.status), code: reply?.headers.get('X-Error-Code') }).toEqual({ status, code })
          if (op.sentences[code]) expect(reply?.body.error).toBe(op.sentences[code])
          if (before) expect(snapshot(world.server), 'a rejected request changed the database').toBe(before)
        })
      }
    }
  })
}

test('every documented error is tested', () => {
  const documented = operations.flatMap((op) =>
    Object.values(op.responses).flatMap((codes) => codes.map((code) => `${op.id} ${code}`)),
  )
  const holes = documented.filter(
    (one) => ![...Object.keys(sharedCauses), ...testedElsewhere].includes(one.split(' ')[1] ?? '') && !causes[one],
  )
  console.log(`${documented.length} documented errors, holes: ${holes.join(', ') || 'none'}`)
  expect(holes).toEqual([])
  const unknown = Object.keys(causes).filter((one) => !documented.includes(one))
  expect(unknown, 'causes of errors that are not documented').toEqual([])
})

test('404 path_unknown for a path that does not exist', async () => {
  const reply = await world.server.request('GET', '/api/v1/nothing')
  expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([404, 'path_unknown'])
})
