import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import type { ReceiveOptions, WebhookEvent } from '@referral/webhook-verifier'
import { webhook as expressWebhook } from '@referral/webhook-verifier/express'
import { webhook as fastifyWebhook } from '@referral/webhook-verifier/fastify'
import { webhook as honoWebhook } from '@referral/webhook-verifier/hono'
import { webhook as nextWebhook } from '@referral/webhook-verifier/next'
import { webhook as nodeWebhook } from '@referral/webhook-verifier/node'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'

export interface Options extends ReceiveOptions {
  maxBytes?: number
  onRefused?: (error: Error) => void
  /** Only plain Node has it. */
  onError?: (error: unknown) => void
}

type Work = (event: WebhookEvent) => unknown

/** A receiver that was started: deliveries go to `url`, or to `fetch` where there is no socket. */
export interface Receiver {
  fetch: (request: Request) => Promise<Response>
  close: () => unknown
}

const overHttp = (url: string) => async (request: Request) => {
  const body = new Uint8Array(await request.arrayBuffer())
  return fetch(url, { method: request.method, headers: request.headers, body })
}

export const listen = async (listener: RequestListener): Promise<Receiver> => {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { fetch: overHttp(`http://127.0.0.1:${port}/`), close: () => server.close() }
}

/** One way to start a receiver per framework, each with its adapter and nothing else. */
export const receivers: Record<string, (options: Options, work: Work) => Receiver | Promise<Receiver>> = {
  node: (options, work) => listen(nodeWebhook(options, work)),
  express: (options, work) => listen(express().post('/', expressWebhook(options, work))),
  'express with express.raw()': (options, work) =>
    listen(express().post('/', express.raw({ type: '*/*', limit: '4mb' }), expressWebhook(options, work))),
  fastify: async (options, work) => {
    const app = fastify()
    app.register(fastifyWebhook(options, work))
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    return { fetch: overHttp(url), close: () => app.close() }
  },
  hono: (options, work) => {
    const app = new Hono().post('/webhooks', honoWebhook(options, work))
    return { fetch: async (request) => app.fetch(request), close: () => undefined }
  },
  'hono on Node': async (options, work) => {
    const app = new Hono().post('/', honoWebhook(options, work))
    const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
    await new Promise<void>((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    return { fetch: overHttp(`http://127.0.0.1:${port}/`), close: () => server.close() }
  },
  next: (options, work) => ({ fetch: nextWebhook(options, work), close: () => undefined }),
}
