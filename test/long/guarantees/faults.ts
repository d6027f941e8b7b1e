import assert from 'node:assert/strict'
import { snapshot } from '../../contract/fixture.ts'
import { endBackendOnce, FAULTS, holdLock } from '../../support/broken-storage.ts'
import { failStatement, rejectWrites } from '../../support/faults.ts'
import type { Reply, TestServer } from '../../support/server.ts'
import { expectOk } from '../../support/shop.ts'
import { type LongTest, type RunOptions, sized } from '../guarantee.ts'
import { mutations, type ReadyMutation } from '../mutations.ts'

/** The response while storage fails: 503 with Retry-After, no change, and no wake-up of the dispatcher. */
async function expectUnavailable({ id, server, call }: ReadyMutation, fault: string): Promise<void> {
  const before = snapshot(server)
  let woken = 0
  server.deps.wakeDispatcher = () => void woken++
  const { status, headers } = await call()
  const said = { status, retryAfter: headers.get('Retry-After'), changed: snapshot(server) !== before, woken }
  assert.deepEqual(said, { status: 503, retryAfter: '1', changed: false, woken: 0 }, `${id}, ${fault}`)
}

let probes = 0
/** Another change succeeds immediately, without a restart. */
const expectRestoreed = (server: TestServer) =>
  expectOk(server.request('POST', '/api/v1/programs', { body: { name: `After ${++probes}` } }))

/** Breaks each statement of its transaction in turn. Returns how many there were. */
async function failEach(ready: ReadyMutation): Promise<number> {
  for (let n = 1; ; n++) {
    const before = snapshot(ready.server)
    const restore = failStatement(ready.server, n)
    const reply = await ready.call()
    restore()
    if (reply.status < 300) {
      assert.ok(n > 1, `${ready.id}: no statement was there to break`)
      return n - 1
    }
    assert.deepEqual([reply.status, snapshot(ready.server) === before], [503, true], `${ready.id}, statement ${n}`)
  }
}

const FINE = (reply: Reply) => reply.status < 300

/** A connection that ends once has no effect: the change is made once, over another one. */
async function expectRetried({ id, server, call }: ReadyMutation): Promise<void> {
  const audits = () => Number(server.sql.prepare('select count(*) from audits').pluck().get())
  const before = audits()
  const restore = endBackendOnce(server, 2)
  const reply = await call()
  restore()
  assert.ok(FINE(reply), `${id}: ${reply.status} after a connection ended once`)
  assert.ok(audits() > before, `${id}: no audit after a connection ended once`)
}

async function breakQuickly(ready: ReadyMutation): Promise<void> {
  const faults = { ...FAULTS, 'audit refused': (server: TestServer) => rejectWrites(server, 'insert', 'audits') }
  for (const [fault, breakIt] of Object.entries(faults)) {
    const restore = breakIt(ready.server)
    await expectUnavailable(ready, fault)
    restore()
    await expectRestoreed(ready.server)
  }
}

/** All wait for their lock at the same time, on separate servers. */
async function lockAll(all: ReadyMutation[]): Promise<void> {
  await Promise.all(
    all.map(async (ready) => {
      const restore = holdLock(ready.server)
      await expectUnavailable(ready, 'locked')
      restore()
      await expectRestoreed(ready.server)
    }),
  )
}

async function run(options: RunOptions): Promise<string> {
  const chosen = mutations.slice(0, sized(mutations.length, options))
  const all = await Promise.all(chosen.map((prepare) => prepare()))
  let statements = 0
  for (const ready of all) await breakQuickly(ready)
  await lockAll(all)
  for (const [n, ready] of all.entries()) {
    if (options.engine === 'postgres' && n % 2) await expectRetried(ready)
    else statements += await failEach(ready)
    await ready.server.close()
  }
  const faults = [...Object.keys(FAULTS), 'audit refused', 'locked', `each of ${statements} statements`]
  return `${all.length} operations × {${faults.join(', ')}}: 503 with Retry-After, nothing changed, the next change succeeds`
}

/** Every operation that changes something, under every fault of storage. */
export const guarantee: LongTest = {
  title: 'A failed change leaves the database unchanged',
  engines: ['sqlite', 'postgres'],
  minutes: 8,
  run,
}
