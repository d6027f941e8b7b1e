import { type Answer, answer, type Webhook } from './adapter.ts'
import { type NodeStream, readStream } from './stream.ts'

/** What this package needs of an `IncomingMessage`; `body` and `rawBody` are what a framework may have put there. */
export interface NodeRequest extends NodeStream {
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined }
  readonly body?: unknown
  readonly rawBody?: unknown
}

/** What this package needs of a `ServerResponse`. */
export interface NodeResponse {
  readonly headersSent: boolean
  statusCode: number
  setHeader(name: string, value: string): unknown
  end(body: string): unknown
}

// Express 4 puts an empty object where it parsed nothing.
const isEmpty = (body: unknown) =>
  body == null || (typeof body === 'object' && !ArrayBuffer.isView(body) && !Object.keys(body).length)

const readIncoming = (request: NodeRequest, maxBytes: number): unknown => {
  const given = request.rawBody ?? request.body
  return isEmpty(given) && !request.readableDidRead ? readStream(request, maxBytes) : given
}

const send = (response: NodeResponse, { status, body }: Answer) => {
  if (response.headersSent) return
  response.statusCode = status
  response.setHeader('content-type', 'application/json')
  // The rest of a body that is too long is still coming.
  if (status === 413) response.setHeader('connection', 'close')
  response.end(JSON.stringify(body))
}

/** A request and its response, as Node, Express and the pages router of Next.js have them. */
export interface NodeExchange<Req = NodeRequest, Res = NodeResponse> {
  request: Req
  response: Res
}

/** The adapter of every framework on Node streams. The handler may answer itself; then nothing is added. */
export const answerIncoming = async <Req extends NodeRequest, Res extends NodeResponse>(
  webhook: Webhook<NodeExchange<Req, Res>>,
  exchange: NodeExchange<Req, Res>,
): Promise<void> => {
  const { request, response } = exchange
  const read = (maxBytes: number) => readIncoming(request, maxBytes)
  send(response, await answer(webhook, exchange, { headers: request.headers, read }))
}
