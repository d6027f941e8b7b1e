import type { ReferralClient } from '@referral/sdk'
import { createClient } from '../client.ts'
import { CliError, exitCode } from '../exit.ts'
import type { Run } from '../run.ts'
import { generateSecret } from '../webhooks/local.ts'
import { parseReceiverUrl, postDelivery } from '../webhooks/post.ts'
import { type RawRequest, type ReceivedDelivery, startReceiver } from './receiver.ts'
import { startServer } from './server.ts'

export interface DevOptions {
  port?: number
  forwardTo?: string
  once?: boolean
}

const FIRST_DELIVERY_TIMEOUT_MS = 15_000

/** A server with a demo shop, and its first signed webhook. Everything is gone when it ends. */
export async function dev(run: Run, options: DevOptions): Promise<undefined> {
  const forwardTo = options.forwardTo === undefined ? undefined : parseReceiverUrl(options.forwardTo)
  const secret = generateSecret()
  let hear: (arrived: ReceivedDelivery) => void = () => {}
  const first = new Promise<ReceivedDelivery>((done) => {
    hear = done
  })
  const receiver = await startReceiver(secret, async (arrived, raw) => {
    hear(arrived)
    const answer = forwardTo ? await forward(forwardTo, raw) : undefined
    const fate = answer ? `, forwarded: ${answer.status ?? 'no answer'}` : ''
    run.reporter.info(`${arrived.event} ${arrived.verified ? 'verified' : 'NOT VERIFIED'}${fate}`)
  })
  try {
    await runServer(run, options, { secret, first, address: receiver.address })
  } finally {
    receiver.server.close()
    receiver.server.closeAllConnections()
  }
}

/** The bytes and the headers that the service sent, to somebody else. */
function forward(url: string, { headers, body }: RawRequest): ReturnType<typeof postDelivery> {
  const kept = Object.entries(headers).filter(([name]) => /^(content-type|x-service-|webhook-)/.test(name))
  return postDelivery(url, { body, headers: Object.fromEntries(kept) as Record<string, string> })
}

async function runServer(
  run: Run,
  { port, once }: DevOptions,
  { secret, first, address }: { secret: string; first: Promise<ReceivedDelivery>; address: string },
): Promise<void> {
  const stop = run.handleInterrupt()
  const server = await startServer({ port, webhookTarget: address, path: run.context.env.PATH ?? '' })
  try {
    const settings = { ...server, source: 'demo', location: 'referral dev', profile: null } as const
    const client = await createClient(server.apiKey, settings, run)
    await client.webhooks.create({ url: `http://${address}/`, secret, source: 'referral dev' })
    const order = await reportOrder(client)
    const webhook = await Promise.race([first, firstDeliveryTimeout()])
    const { baseUrl, apiKey, ownerToken, shopId } = server
    run.printRecord({ baseUrl, docs: `${baseUrl}/api/v1/docs`, apiKey, ownerToken, shopId, order, secret, webhook })
    await run.flush()
    if (once || stop.interrupted) return
    run.reporter.info('Ctrl-C ends it, and everything in it is gone.')
    const aborted = new Promise<true>((done) => stop.signal.addEventListener('abort', () => done(true)))
    const code = await Promise.race([server.ended, aborted])
    if (code !== true)
      throw new CliError(exitCode.unavailable, `The server ended with ${code}.`, { code: 'server_ended' })
  } finally {
    await server.stop()
  }
}

async function reportOrder(client: ReferralClient): Promise<string> {
  const externalOrderId = 'demo-1001'
  await client.events.conversion({ externalOrderId, amountCents: 10_000, discountCents: 1000, couponCode: 'NISA16' })
  return externalOrderId
}

const firstDeliveryTimeout = () =>
  new Promise<never>((_, fail) =>
    setTimeout(
      () => fail(new CliError(exitCode.unavailable, 'The first webhook did not arrive.', { code: 'webhook_missing' })),
      FIRST_DELIVERY_TIMEOUT_MS,
    ).unref(),
  )
