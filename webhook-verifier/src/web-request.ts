import { handleDelivery, type Webhook } from './adapter.ts'
import { reject } from './error.ts'

const readBody = async (request: Request, maxBytes: number): Promise<ArrayBuffer> => {
  if (request.bodyUsed || request.body?.locked)
    reject('body_parsed', 'The body was already read. Mount the receiver before middleware that reads it.')
  // No body, or a runtime without request streams.
  if (!request.body) return request.arrayBuffer()
  const chunks: BlobPart[] = []
  let size = 0
  const reader = request.body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return new Blob(chunks).arrayBuffer()
    size += value.byteLength
    if (size > maxBytes) {
      await reader.cancel()
      reject('body_too_large', `The body exceeds maxBytes (${maxBytes}).`)
    }
    chunks.push(value)
  }
}

/** Handles a delivery in a runtime with Web requests. */
export const handleWebRequest = async <Context>(
  webhook: Webhook<Context>,
  context: Context,
  request: Request,
): Promise<Response> => {
  const read = (maxBytes: number) => readBody(request, maxBytes)
  const { status, body } = await handleDelivery(webhook, context, { headers: request.headers, read })
  return Response.json(body, { status })
}
