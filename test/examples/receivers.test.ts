// Full: it starts other processes.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { signedDelivery } from '@referral/webhook-verifier/testing'
import { afterEach, expect, test } from 'vitest'

const SECRET = 'a shared secret'
const event = {
  event: 'commission.created',
  data: { affiliateId: 'aff_1', commissionAmountCents: 1250, currency: 'EUR' },
}

let receiver: ChildProcess | undefined
afterEach(async () => {
  if (receiver?.exitCode === null && receiver.kill()) await once(receiver, 'exit')
})

function start(name: string, env: Record<string, string>) {
  const file = fileURLToPath(new URL(`../../examples/receivers/${name}.ts`, import.meta.url))
  const child = spawn(process.execPath, [file], { env: { PATH: process.env.PATH, PORT: '0', ...env } })
  receiver = child
  return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() }
}

test.each(['hono', 'express', 'fastify', 'node'])('%s: accepts a delivery and rejects a forged one', async (name) => {
  const { lines } = start(name, { WEBHOOK_SECRET: SECRET })
  const port = /^listening on (\d+)$/.exec((await lines.next()).value ?? '')?.[1]
  const deliver = async (secret: string, affiliateId: string) => {
    const draft = { ...event, data: { ...event.data, affiliateId } }
    const delivery = await signedDelivery(draft, { secret })
    return (await fetch(`http://127.0.0.1:${port}/webhooks`, { method: 'POST', ...delivery })).status
  }
  expect(await deliver('another secret', 'aff_forged')).toBe(400)
  expect(await deliver(SECRET, 'aff_1')).toBe(200)
  // The forged delivery printed nothing.
  expect((await lines.next()).value).toBe('aff_1 earns 1250 EUR')
})

test('a receiver does not start without a secret', async () => {
  const { child } = start('node', {})
  let output = ''
  child.stderr.on('data', (text) => {
    output += text
  })
  expect(await once(child, 'close')).toEqual([1, null])
  expect(output).toContain('Set WEBHOOK_SECRET')
})
