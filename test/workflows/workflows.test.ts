// Full: it starts other processes.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { verify } from '@referral/webhook-verifier'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningServer, startServer } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { type Receiver, startReceiver } from '../webhooks/receiver.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = temporaryFolder()
const secret = 'workflow-secret'
let receiver: Receiver
let server: RunningServer
let key: string

beforeAll(async () => {
  receiver = await startReceiver()
  server = await startServer({ REFERRAL_DATA_DIR: folder.path, REFERRAL_WEBHOOK_ALLOW: receiver.host })
  key = /^REFERRAL_API_KEY=(.*)$/m.exec(readFileSync(join(folder.path, 'demo.env'), 'utf8'))?.[1] ?? ''
})
afterAll(async () => {
  await server.stop('SIGKILL')
  receiver.stop()
  folder.remove()
})

/** Runs a workflow of the Arazzo file against the server; checks every response against the contract. */
function respect(workflow: string, inputs: Record<string, string>): Promise<{ code: number | null; output: string }> {
  const given = Object.entries({ apiKey: key, ...inputs }).flatMap(([name, value]) => ['-i', `${name}=${value}`])
  const args = ['respect', 'referral.arazzo.yaml', '-w', workflow, '-S', `api=${server.url}`, ...given]
  return new Promise((resolve) => {
    const child = spawn(join(root, 'node_modules/.bin/redocly'), args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    child.stdout.on('data', (chunk) => {
      output += chunk
    })
    child.stderr.on('data', (chunk) => {
      output += chunk
    })
    child.once('close', (code) => resolve({ code, output }))
  })
}

test('from a program to a paid batch, including a replay', async () => {
  const { code, output } = await respect('order-to-payment', {})
  expect(code, output).toBe(0)
  expect(output).toMatch(/Steps: 13 passed, 13 total/)
}, 60_000)

test('subscribe, test, receive, unsubscribe', async () => {
  const { code, output } = await respect('webhooks', { receiverUrl: receiver.at('/ok'), secret })
  expect(code, output).toBe(0)
  await expect.poll(() => receiver.to('/ok').length, { timeout: 5000 }).toBe(1)
  const [delivery] = receiver.to('/ok')
  expect(delivery?.headers['x-service-event']).toBe('test')
  await verify(delivery?.body ?? '', delivery?.headers['x-service-signature'] ?? '', secret)
}, 60_000)
