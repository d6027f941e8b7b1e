import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DocumentedOperation, examplesOf, ownerOperations } from '../support/document.ts'
import { failStatement } from '../support/faults.ts'
import { auditLog } from '../support/inspect.ts'
import { callOwner, FRESH, type OwnerCall, type OwnerServer, ownerServer, sessionFor } from '../support/owner.ts'
import { snapshot } from './fixture.ts'
import { causes, sharedCauses } from './owner-causes.ts'

const ops = ownerOperations.filter((op) => op.path.startsWith('/admin/'))
/** These cases change rows themselves before the request is rejected. */
const CHANGES =
  /concurrent|currency_in_use|already|shop_is_test|is_adjustment|still_restricted|exceeds|total_too_large|limit_reached|alias_taken|percent_required|webhook_not_found|not_finished|payee_not_found|unfinished|unreadable|not_payable/

// Two servers: rejected requests must leave `calm` unchanged, and causes that change something first go to `busy`.
let calm: OwnerServer
let busy: OwnerServer
beforeAll(async () => {
  calm = await ownerServer()
  busy = await ownerServer()
})
afterAll(async () => {
  await calm.close()
  await busy.close()
})

describe.each(ops.map((op) => [op.id, op] as const))('%s', (id, op) => {
  for (const [status, codes] of Object.entries(op.responses)) {
    for (const code of codes) {
      test(`${status} ${code}`, async () => {
        const server = CHANGES.test(code) ? busy : calm
        const before = snapshot(calm)
        const reply = await (causes[`${id} ${code}`] ?? sharedCauses[code])?.(server, op)
        expect(reply, `nothing brings ${code} about`).toBeDefined()
        expect({ status: String(reply?.status), code: reply?.headers.get('X-Error-Code') }).toEqual({ status, code })
        if (op.sentences[code]) expect(reply?.body.error).toBe(op.sentences[code])
        expect(snapshot(calm), 'a rejected request changed the database').toBe(before)
      })
    }
  }
})

test('no test causes an undocumented error', () => {
  const documented = ops.flatMap((op) =>
    Object.values(op.responses).flatMap((codes) => codes.map((code) => `${op.id} ${code}`)),
  )
  expect(Object.keys(causes).filter((one) => !documented.includes(one))).toEqual([])
})

const actorsSince = (audits: ReturnType<typeof auditLog>) => [...new Set(audits().map(({ actor }) => actor))]

/** The resources that the example of an operation may consume. */
async function prepare(op: DocumentedOperation, value: unknown): Promise<OwnerCall> {
  const id = await FRESH[op.id]?.(busy)
  const body = value !== undefined && op.id !== 'createSession' ? { body: value } : {}
  return { ...sessionFor(busy, op), ...body, ...(id && { id }) }
}

/** Fails each statement in turn until none is left: 503 and no change each time. */
async function failEverywhere(op: DocumentedOperation, call: OwnerCall): Promise<number> {
  const before = snapshot(busy)
  for (let n = 1; ; n++) {
    const restore = failStatement(busy, n)
    const { status, body } = await callOwner(busy, op, call)
    restore()
    if (status < 300) return n
    expect([n, status], JSON.stringify(body)).toEqual([n, 503])
    expect(snapshot(busy), `statement ${n}`).toBe(before)
  }
}

describe('every example of the document works after errors, and the audit records its user', () => {
  // Ending a session must come last; it has its own tests.
  const called = ops.sort((a, b) => Number(a.id === 'deleteSession') - Number(b.id === 'deleteSession'))
  for (const { op, name, value } of examplesOf(called)) {
    test(`${op.id} ${name}`, async () => {
      const call = await prepare(op, value)
      const audits = auditLog(busy)
      const statements = await failEverywhere(op, call)
      const isPreview = (value as { dryRun?: boolean } | undefined)?.dryRun === true
      expect(actorsSince(audits)).toEqual(isPreview ? [] : [expect.stringMatching(/^user:usr_/)])
      if (!isPreview) expect(statements).toBeGreaterThan(2)
    })
  }
})
