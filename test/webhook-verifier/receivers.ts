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
  onRejected?: (error: Error) => void
  /** Used by the Node adapter only. */
  onError?: (error: unknown) => void
}

type Handler = (event: WebhookEvent) => unknown

/** A running receiver. `fetch` delivers to it, over a socket where it has one. */
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

/** Starts a receiver in each framework, with its adapter only. */
export const receivers: Record<string, (options: Options, handler: Handler) => Receiver | Promise<Receiver>> = {
  node: (options, handler) => listen(nodeWebhook(options, handler)),
  express: (options, handler) => listen(express().post('/', expressWebhook(options, handler))),
  'express with express.raw()': (options, handler) =>
    listen(express().post('/', express.raw({ type: '*/*', limit: '4mb' }), expressWebhook(options, handler))),
  fastify: async (options, handler) => {
    const app = fastify()
    app.register(fastifyWebhook(options, handler))
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    return { fetch: overHttp(url), close: () => app.close() }
  },
  hono: (options, handler) => {
    const app = new Hono().post('/webhooks', honoWebhook(options, handler))
    return { fetch: async (request) => app.fetch(request), close: () => undefined }
  },
  'hono on Node': async (options, handler) => {
    const app = new Hono().post('/', honoWebhook(options, handler))
    const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
    await new Promise<void>((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    return { fetch: overHttp(`http://127.0.0.1:${port}/`), close: () => server.close() }
  },
  next: (options, handler) => ({ fetch: nextWebhook(options, handler), close: () => undefined }),
}
