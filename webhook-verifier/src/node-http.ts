import { type AdapterResponse, handleDelivery, type Webhook } from './adapter.ts'
import { reject, WebhookError } from './error.ts'

/** The part of a Node stream that is used. */
export interface NodeStream {
  readonly readableDidRead?: boolean
  readonly readableEnded?: boolean
  on(event: string, listener: (argument: unknown) => void): unknown
}

/** The part of an `IncomingMessage` that is used. A framework may have set `body` or `rawBody`. */
export interface NodeRequest extends NodeStream {
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined }
  readonly body?: unknown
  readonly rawBody?: unknown
}

/** The part of a `ServerResponse` that is used. */
export interface NodeResponse {
  readonly headersSent: boolean
  statusCode: number
  setHeader(name: string, value: string): unknown
  end(body: string): unknown
}

/** The context of a handler on Node, Express and the Next.js pages router. */
export interface NodeExchange<Req = NodeRequest, Res = NodeResponse> {
  request: Req
  response: Res
}

/** Handles a delivery in a framework on Node streams. Sends nothing when the handler has sent a response itself. */
export const handleNodeRequest = async <Req extends NodeRequest, Res extends NodeResponse>(
  webhook: Webhook<NodeExchange<Req, Res>>,
  exchange: NodeExchange<Req, Res>,
): Promise<void> => {
  const { request, response } = exchange
  const read = (maxBytes: number) => readBody(request, maxBytes)
  send(response, await handleDelivery(webhook, exchange, { headers: request.headers, read }))
}

const readBody = (request: NodeRequest, maxBytes: number): unknown => {
  const given = request.rawBody ?? request.body
  return isEmpty(given) && !request.readableDidRead ? readStream(request, maxBytes) : given
}

// Express 4 sets an empty object where it parsed nothing.
const isEmpty = (body: unknown) =>
  body == null || (typeof body === 'object' && !ArrayBuffer.isView(body) && !Object.keys(body).length)

const send = (response: NodeResponse, { status, body }: AdapterResponse) => {
  if (response.headersSent) return
  response.statusCode = status
  response.setHeader('content-type', 'application/json')
  // The rest of a body that is too large is still being received.
  if (status === 413) response.setHeader('connection', 'close')
  response.end(JSON.stringify(body))
}

/**
 * Reads a stream to its end. A body that is too large is discarded but still read: destroying the stream would close the
 * connection before the response is sent.
 */
export const readStream = (stream: NodeStream, maxBytes: number): Promise<Uint8Array> =>
  new Promise((resolve, fail) => {
    // A stream that has ended emits no further event.
    if (stream.readableDidRead || stream.readableEnded)
      reject('body_parsed', 'The body was already read. Mount the receiver before middleware that reads it.')
    const chunks: Uint8Array[] = []
    let size = 0
    stream.on('data', (chunk) => {
      if (!ArrayBuffer.isView(chunk))
        return fail(new WebhookError('body_parsed', 'The body was decoded. Remove setEncoding().'))
      size += chunk.byteLength
      if (size <= maxBytes) chunks.push(chunk as Uint8Array)
      else fail(new WebhookError('body_too_large', `The body exceeds maxBytes (${maxBytes}).`))
    })
    stream.on('end', () => resolve(concat(chunks, size)))
    stream.on('error', fail)
    stream.on('close', () => fail(new Error('The connection closed before the whole body was received.')))
  })

const concat = (chunks: Uint8Array[], size: number) => {
  const bytes = new Uint8Array(size)
  let offset = 0
  for (const chunk of chunks) {
    bytes.set(chunk, offset)
    offset += chunk.length
  }
  return bytes
}
