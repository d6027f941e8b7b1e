import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { receive } from '@referral/webhook-verifier'

/** A delivery that came in, and what the verifier says of it. */
export interface ReceivedDelivery {
  event: string
  verified: boolean
  headers: Record<string, string>
  body: string
}

/** What came over the wire. */
export interface RawRequest {
  headers: IncomingHttpHeaders
  body: Buffer<ArrayBuffer>
}

const SHOWN_HEADERS = ['x-service-event', 'x-service-signature', 'webhook-id', 'webhook-timestamp', 'webhook-signature']

/** Takes in webhooks on this machine, checks them as a receiver should, and answers 200. */
export async function startReceiver(
  secret: string,
  onArrival: (arrived: ReceivedDelivery, raw: RawRequest) => void,
): Promise<{ address: string; server: Server }> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const found = await receive({ headers: request.headers, body }, { secret }).catch(() => undefined)
    response.writeHead(found ? 200 : 400).end()
    const headers = Object.fromEntries(SHOWN_HEADERS.map((name) => [name, String(request.headers[name] ?? '')]))
    const event = found?.event.event ?? headers['x-service-event'] ?? ''
    onArrival(
      { event, verified: found !== undefined, headers, body: body.toString('utf8') },
      { headers: request.headers, body },
    )
  })
  server.listen(0, '127.0.0.1')
  await new Promise((done) => server.once('listening', done))
  const { port } = server.address() as { port: number }
  return { address: `127.0.0.1:${port}`, server }
}
