import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { ReferralClient } from '@referral/sdk'
import { generateSecret } from '@referral/sdk'
import { receive } from '@referral/webhook-verifier'
import { createClient } from '../../client.ts'
import { CliError, exitCode, unwrap, usageError } from '../../errors.ts'
import type { Run } from '../../run.ts'
import { requireSecret, type SecretOptions } from '../../secrets.ts'
import { parseReceiverUrl, postDelivery } from '../webhooks/post.ts'
import { startServer } from './server.ts'

export interface DevOptions extends SecretOptions {
  port?: number
  forwardTo?: string
  once?: boolean
  stripe?: boolean
}

const COUPON = 'NISA16'
const FIRST_DELIVERY_TIMEOUT_MS = 15_000

/** Runs a temporary server with a test shop, and prints its first signed webhook. */
export async function dev(run: Run, options: DevOptions): Promise<undefined> {
  const forwardTo = options.forwardTo === undefined ? undefined : parseReceiverUrl(options.forwardTo)
  if (!options.stripe && (options.secretFile || options.secretStdin))
    throw usageError('--secret-file and --secret-stdin need --stripe.')
  const stripeSecret = options.stripe ? await requireSecret(run.context, options) : undefined
  const secret = generateSecret()
  const { promise: first, resolve: resolveFirst } = Promise.withResolvers<ReceivedDelivery>()
  const receiver = await startReceiver(secret, async (delivery, raw) => {
    resolveFirst(delivery)
    const response = forwardTo ? await forward(forwardTo, raw) : undefined
    const outcome = response
      ? `, forwarded: ${response.status ?? 'no response'}${response.reason ? ` (${response.reason})` : ''}`
      : ''
    run.reporter.info(`${delivery.event} ${delivery.verified ? 'verified' : 'NOT VERIFIED'}${outcome}`)
  })
  try {
    await runServer(run, options, { secret, first, address: receiver.address, stripeSecret })
  } finally {
    receiver.server.close()
    receiver.server.closeAllConnections()
  }
}

/** Forwards a delivery's original bytes, signature, and trace. */
function forward(url: string, { headers, body }: RawRequest): ReturnType<typeof postDelivery> {
  const forwarded = Object.entries(headers).filter(([name]) =>
    /^(content-type$|traceparent$|x-service-|webhook-)/.test(name),
  )
  return postDelivery(url, { body, headers: Object.fromEntries(forwarded) as Record<string, string> })
}

interface Received {
  secret: string
  first: Promise<ReceivedDelivery>
  address: string
  /** Stripe's signing secret, with --stripe. */
  stripeSecret: string | undefined
}

async function runServer(
  run: Run,
  { port, once }: DevOptions,
  { secret, first, address, stripeSecret }: Received,
): Promise<void> {
  const stop = run.handleInterrupt()
  const server = await startServer({ port, webhookTarget: address, path: run.context.env.PATH ?? '' })
  try {
    const { baseUrl } = server
    const settings = { ...server, source: 'demo', location: 'referral dev', profile: null } as const
    const demoOwner = await createClient(server.ownerToken, settings, run)
    const { apiKey, ownerToken, id: shopId } = await createTestShop(demoOwner)
    const client = await createClient(apiKey, settings, run)
    await createAffiliate(client)
    const stripeListen = `stripe listen --forward-to ${baseUrl}/integrations/stripe/${shopId}`
    if (stripeSecret !== undefined) {
      const owner = await createClient(ownerToken, settings, run)
      unwrap(await owner.PATCH('/admin/v1/settings', { body: { stripeWebhookSecret: stripeSecret } }))
    }
    await client.webhooks.create({ url: `http://${address}/`, secret, source: 'referral dev' })
    const order = await reportOrder(client)
    const webhook = await Promise.race([first, firstDeliveryTimeout()])
    const made = { baseUrl, docs: `${baseUrl}/api/v1/docs`, apiKey, ownerToken, shopId, order, secret, webhook }
    run.printRecord(stripeSecret === undefined ? made : { ...made, stripeListen })
    await run.flush()
    if (once || stop.interrupted) return
    if (stripeSecret !== undefined) run.reporter.info(`To forward the events of Stripe's test mode: ${stripeListen}`)
    run.reporter.info(
      `To advance the clock of the test shop by a month: ${clockCommand({ baseUrl, ownerToken, shopId })}`,
    )
    run.reporter.info('Press Ctrl-C to stop the server and delete its data.')
    const aborted = new Promise<true>((done) => stop.signal.addEventListener('abort', () => done(true)))
    const code = await Promise.race([server.ended, aborted])
    if (code !== true)
      throw new CliError(exitCode.unavailable, `The server exited with ${code}.`, { code: 'server_ended' })
  } finally {
    await server.stop()
  }
}

/** Creates a test shop of the demo shop. */
const createTestShop = async (demoOwner: ReferralClient) =>
  unwrap(await demoOwner.POST('/admin/v1/test-shops', { body: { name: 'Development' } })).data

/** A program that auto-approves orders, and an approved affiliate with a coupon. */
async function createAffiliate(client: ReferralClient): Promise<void> {
  await client.programs.create({
    name: 'Demo program',
    autoApproveAffiliate: true,
    autoApproveOrder: true,
    status: 'PUBLISH',
  })
  const { id } = await client.affiliates.create({ email: 'nisa@demo.example', firstName: 'Nisa', lastName: 'Karim' })
  await client.coupons.assign({ affiliateId: id, code: COUPON })
}

interface TestShop {
  baseUrl: string
  ownerToken: string
  shopId: string
}

const clockCommand = ({ baseUrl, ownerToken, shopId }: TestShop): string =>
  `curl ${baseUrl}/admin/v1/test-shops/${shopId}/clock -H 'Authorization: Bearer ${ownerToken}' -d '{"advanceSeconds":2678400}'`

async function reportOrder(client: ReferralClient): Promise<string> {
  const externalOrderId = 'demo-1001'
  await client.events.conversion({
    externalOrderId,
    amountCents: 10_000,
    discountCents: 1000,
    currency: 'USD',
    couponCode: COUPON,
  })
  return externalOrderId
}

const firstDeliveryTimeout = () =>
  new Promise<never>((_, fail) =>
    setTimeout(
      () =>
        fail(
          new CliError(
            exitCode.unavailable,
            `The first webhook did not arrive within ${FIRST_DELIVERY_TIMEOUT_MS / 1000} seconds.`,
            { code: 'webhook_missing' },
          ),
        ),
      FIRST_DELIVERY_TIMEOUT_MS,
    ).unref(),
  )

/** A delivery, and whether its signature is valid. */
export interface ReceivedDelivery {
  event: string
  verified: boolean
  headers: Record<string, string>
  body: string
}

/** The delivery as received. */
export interface RawRequest {
  headers: IncomingHttpHeaders
  body: Buffer<ArrayBuffer>
}

const SHOWN_HEADERS = ['x-service-event', 'x-service-signature', 'webhook-id', 'webhook-timestamp', 'webhook-signature']

/** Starts a receiver that verifies deliveries: it returns 200 for a valid one, 400 otherwise. */
export async function startReceiver(
  secret: string,
  onDelivery: (delivery: ReceivedDelivery, raw: RawRequest) => void,
): Promise<{ address: string; server: Server }> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const verified = await receive({ headers: request.headers, body }, { secret }).catch(() => undefined)
    response.writeHead(verified ? 200 : 400).end()
    const headers = Object.fromEntries(SHOWN_HEADERS.map((name) => [name, String(request.headers[name] ?? '')]))
    const event = verified?.event.event ?? headers['x-service-event'] ?? ''
    onDelivery(
      { event, verified: verified !== undefined, headers, body: body.toString('utf8') },
      { headers: request.headers, body },
    )
  })
  server.listen(0, '127.0.0.1')
  await new Promise((done) => server.once('listening', done))
  const { port } = server.address() as { port: number }
  return { address: `127.0.0.1:${port}`, server }
}
