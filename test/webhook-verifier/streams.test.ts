import { EventEmitter } from 'node:events'
import { Readable } from 'node:stream'
import type { WebhookEvent } from '@referral/webhook-verifier'
import { type NodeOptions, webhook } from '@referral/webhook-verifier/node'
import { signedDelivery } from '@referral/webhook-verifier/testing'
import { expect, it } from 'vitest'

const secret = 'a shared secret'

/** A response that records what is sent. */
function recorder() {
  const headers: Record<string, string> = {}
  return {
    headersSent: false,
    statusCode: 0,
    headers,
    text: undefined as string | undefined,
    setHeader(name: string, value: string) {
      headers[name] = value
    },
    end(text: string) {
      this.text = text
      this.headersSent = true
    },
  }
}

type Stream = Readable | (EventEmitter & { readableDidRead?: boolean; readableEnded?: boolean })

/** Passes a stream to a listener and returns the response, events and errors. */
async function receive(
  stream: Stream,
  headers: Record<string, string>,
  {
    options = {},
    handler,
  }: { options?: Partial<NodeOptions>; handler?: (response: ReturnType<typeof recorder>) => void } = {},
) {
  const events: WebhookEvent[] = []
  const rejected: string[] = []
  const failed: unknown[] = []
  const response = recorder()
  const given = {
    secret,
    onRejected: ({ message }: Error) => void rejected.push(message),
    onError: (error: unknown) => void failed.push(error),
    ...options,
  }
  const listener = webhook(given, (event) => {
    events.push(event)
    handler?.(response)
  })
  await listener(Object.assign(stream, { headers }) as never, response)
  return { response, events, rejected, failed }
}

const draft = { event: 'test', timestamp: '2026-10-20T15:04:05.000Z' }

it('reads a body in chunks, up to maxBytes', async () => {
  const { body, headers } = await signedDelivery(draft, { secret })
  const pieces = () => Readable.from([body.subarray(0, 7), body.subarray(7)])
  const fits = await receive(pieces(), headers, { options: { maxBytes: body.length } })
  expect([fits.response.statusCode, fits.response.text, fits.events.length]).toEqual([200, '{"ok":true}', 1])
  expect(fits.response.headers).toEqual({ 'content-type': 'application/json' })
  const over = await receive(pieces(), headers, { options: { maxBytes: body.length - 1 } })
  expect([over.response.statusCode, over.response.text]).toEqual([413, '{"error":"body_too_large"}'])
  expect(over.response.headers).toEqual({ 'content-type': 'application/json', connection: 'close' })
  expect(over.rejected).toEqual([expect.stringContaining(`${body.length - 1}`)])
})

it('rejects a stream that was already read', async () => {
  const { headers } = await signedDelivery(draft, { secret })
  for (const trace of [{ readableDidRead: true }, { readableEnded: true }]) {
    const { response, rejected } = await receive(Object.assign(new EventEmitter(), trace), headers)
    expect([trace, response.statusCode]).toEqual([trace, 500])
    expect(rejected[0]).toMatch(/^body_parsed: /)
  }
})

it('fails when the connection breaks or closes during the body', async () => {
  const { headers } = await signedDelivery(draft, { secret })
  const broken = new EventEmitter()
  setImmediate(() => broken.emit('error', new Error('reset')))
  expect((await receive(broken, headers)).failed).toEqual([new Error('reset')])
  const closed = new EventEmitter()
  setImmediate(() => closed.emit('close'))
  const { response, failed } = await receive(closed, headers)
  expect(failed).toEqual([new Error('The connection closed before the whole body was received.')])
  expect([response.statusCode, response.text]).toEqual([500, ''])
})

it('sends nothing when the handler has responded, even when it throws afterwards', async () => {
  const { body, headers } = await signedDelivery(draft, { secret })
  const own = await receive(Readable.from([body]), headers, { handler: (response) => response.end('mine') })
  expect([own.response.text, own.response.statusCode]).toEqual(['mine', 0])
  const late = await receive(Readable.from([body]), headers, {
    handler: (response) => {
      response.end('mine')
      throw new Error('later')
    },
  })
  expect([late.response.text, late.response.statusCode, late.failed]).toEqual(['mine', 0, [new Error('later')]])
})
