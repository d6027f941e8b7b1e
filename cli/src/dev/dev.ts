import type { ReferralClient } from '@referral/sdk'
import { makeClient } from '../client.ts'
import { CliError, exit } from '../exit.ts'
import type { Run } from '../run.ts'
import { makeSecret } from '../webhooks/local.ts'
import { post, readUrl } from '../webhooks/post.ts'
import { type Arrived, type Raw, startReceiver } from './receiver.ts'
import { startServer } from './server.ts'

export interface DevOptions {
  port?: number
  forwardTo?: string
  once?: boolean
}

const FIRST_DELIVERY_MS = 15_000

/** A server with a demo shop, and its first signed webhook. Everything is gone when it ends. */
export async function dev(run: Run, options: DevOptions): Promise<undefined> {
  const forwardTo = options.forwardTo === undefined ? undefined : readUrl(options.forwardTo)
  const secret = makeSecret()
  let hear: (arrived: Arrived) => void = () => {}
  const first = new Promise<Arrived>((done) => {
    hear = done
  })
  const receiver = await startReceiver(secret, async (arrived, raw) => {
    hear(arrived)
    const answer = forwardTo ? await handOn(forwardTo, raw) : undefined
    const fate = answer ? `, forwarded: ${answer.status ?? 'no answer'}` : ''
    run.talk.note(`${arrived.event} ${arrived.verified ? 'verified' : 'NOT VERIFIED'}${fate}`)
  })
  try {
    await serveWith(run, options, { secret, first, address: receiver.address })
  } finally {
    receiver.server.close()
    receiver.server.closeAllConnections()
  }
}

/** The bytes and the headers that the service sent, to somebody else. */
function handOn(url: string, { headers, body }: Raw): ReturnType<typeof post> {
  const kept = Object.entries(headers).filter(([name]) => /^(content-type|x-service-|webhook-)/.test(name))
  return post(url, { body, headers: Object.fromEntries(kept) as Record<string, string> })
}

async function serveWith(
  run: Run,
  { port, once }: DevOptions,
  { secret, first, address }: { secret: string; first: Promise<Arrived>; address: string },
): Promise<void> {
  const stop = run.catchInterrupt()
  const server = await startServer({ port, webhookTarget: address, path: run.world.env.PATH ?? '' })
  try {
    const settings = { ...server, source: 'demo', where: 'referral dev', profile: null } as const
    const client = await makeClient(server.apiKey, settings, run)
    await client.webhooks.create({ url: `http://${address}/`, secret, source: 'referral dev' })
    const order = await reportOrder(client)
    const webhook = await Promise.race([first, tooLate()])
    const { baseUrl, apiKey, ownerToken, shopId } = server
    run.record({ baseUrl, docs: `${baseUrl}/api/v1/docs`, apiKey, ownerToken, shopId, order, secret, webhook })
    await run.flush()
    if (once || stop.interrupted) return
    run.talk.note('Ctrl-C ends it, and everything in it is gone.')
    const aborted = new Promise<true>((done) => stop.signal.addEventListener('abort', () => done(true)))
    const code = await Promise.race([server.ended, aborted])
    if (code !== true) throw new CliError(exit.unavailable, `The server ended with ${code}.`, { code: 'server_ended' })
  } finally {
    await server.stop()
  }
}

async function reportOrder(client: ReferralClient): Promise<string> {
  const externalOrderId = 'demo-1001'
  await client.events.conversion({ externalOrderId, amountCents: 10_000, discountCents: 1000, couponCode: 'NISA16' })
  return externalOrderId
}

const tooLate = () =>
  new Promise<never>((_, fail) =>
    setTimeout(
      () => fail(new CliError(exit.unavailable, 'The first webhook did not arrive.', { code: 'webhook_missing' })),
      FIRST_DELIVERY_MS,
    ).unref(),
  )
