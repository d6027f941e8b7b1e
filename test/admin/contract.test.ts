import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { snapshot } from '../contract/fixture.ts'
import { type DocumentedOperation, documentedSentence, ownerOperations } from '../support/document.ts'
import { failStatement } from '../support/faults.ts'
import type { TestServer } from '../support/server.ts'
import { causes, sharedCauses } from './causes.ts'
import { callOwner, type OwnerServer, ownerServer, sessionFor } from './fixture.ts'

const ops = ownerOperations.filter((op) => op.path.startsWith('/admin/'))
/** These bring about a change of their own before the refusal. */
const CHANGES =
  /concurrent|already|csrf|is_adjustment|still_restricted|exceeds|percent_required|webhook_not_found|not_finished|^deleteSession .*(audit|internal)/

/** Where nothing changes, all look at one server. */
let calm: OwnerServer
beforeAll(async () => {
  calm = await ownerServer()
})
afterAll(() => calm.close())

describe.each(ops.map((op) => [op.id, op] as const))('%s', (id, op) => {
  for (const [status, codes] of Object.entries(op.responses)) {
    for (const code of codes) {
      test(`${status} ${code}`, async () => {
        const isCalm = !CHANGES.test(`${id} ${code}`) && !CHANGES.test(code)
        const server = isCalm ? calm : await ownerServer()
        const before = isCalm && snapshot(server)
        const reply = await (causes[`${id} ${code}`] ?? sharedCauses[code])?.(server, op)
        expect(reply, `nothing brings ${code} about`).toBeDefined()
        expect({ status: String(reply?.status), code: reply?.headers.get('X-Error-Code') }).toEqual({ status, code })
        if (!op.shared.includes(status)) expect(reply?.body.error).toBe(documentedSentence(op, status, code))
        if (isCalm) expect(snapshot(server), 'a refusal changed the database').toBe(before)
        else await server.close()
      })
    }
  }
})

test('no cause stands for an error that is not documented', () => {
  const documented = ops.flatMap((op) =>
    Object.values(op.responses).flatMap((codes) => codes.map((code) => `${op.id} ${code}`)),
  )
  expect(Object.keys(causes).filter((one) => !documented.includes(one))).toEqual([])
})

const newest = ({ sql }: TestServer) => sql.prepare('select max(seq) from audits').pluck().get() as number
const actorsAfter = ({ sql }: TestServer, seq: number) =>
  sql.prepare('select distinct actor from audits where seq > ?').pluck().all(seq)

/** Runs one example, which must work and leave its user in the audit. */
async function runExample(server: OwnerServer, op: DocumentedOperation, value: unknown): Promise<void> {
  const session = await sessionFor(server, op)
  const before = newest(server)
  const body = value !== undefined && op.id !== 'createSession' ? { body: value } : {}
  const reply = await callOwner(server, op, { ...session, ...body })
  expect(reply.status, JSON.stringify(reply.body)).toBeLessThan(300)
  const isPreview = (value as { dryRun?: boolean } | undefined)?.dryRun === true
  expect(actorsAfter(server, before)).toEqual(isPreview ? [] : [expect.stringMatching(/^user:usr_/)])
}

describe('every example of the document works as it stands, and leaves its user in the audit', () => {
  // What streams never ends by itself; it has tests of its own.
  for (const op of ops.filter(({ id }) => id !== 'streamDeliveries')) {
    const bodies = Object.entries(op.requestExamples)
    const examples = bodies.length ? bodies : [['', { value: undefined }] as const]
    for (const [index, [name, { value }]] of examples.entries()) {
      test(`${op.id} ${name}`, async () => {
        const isRead = op.method === 'GET'
        const server = isRead ? calm : await ownerServer()
        if (!isRead && index === 0) await failEverywhere(server, op)
        else await runExample(server, op, value)
        if (!isRead) await server.close()
      })
    }
  }
})

/** Fails one statement after the other until there is none left to fail: 503 and no change each time, then it works. */
async function failEverywhere(server: OwnerServer, op: DocumentedOperation): Promise<void> {
  const session = await sessionFor(server, op)
  const before = snapshot(server)
  const seq = newest(server)
  for (let n = 1; ; n++) {
    const mend = await failStatement(server, n)
    const reply = await callOwner(server, op, session)
    mend()
    if (reply.status < 300) break
    expect([n, reply.status]).toEqual([n, 503])
    expect(snapshot(server), `statement ${n}`).toBe(before)
  }
  expect(snapshot(server)).not.toBe(before)
  expect(actorsAfter(server, seq)).toEqual([expect.stringMatching(/^user:usr_/)])
}
