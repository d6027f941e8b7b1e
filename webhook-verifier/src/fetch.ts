import { answer, type Webhook } from './adapter.ts'
import { refuse } from './error.ts'

const readRequest = async (request: Request, maxBytes: number): Promise<ArrayBuffer> => {
  if (request.bodyUsed || request.body?.locked) refuse('body_parsed', 'something read the body of the request before')
  // No body, or a runtime that does not show it as a stream.
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
      refuse('body_too_large', `more than ${maxBytes} bytes`)
    }
    chunks.push(value)
  }
}

/** The adapter of every runtime whose requests are Web requests. */
export const answerRequest = async <Context>(
  webhook: Webhook<Context>,
  context: Context,
  request: Request,
): Promise<Response> => {
  const read = (maxBytes: number) => readRequest(request, maxBytes)
  const { status, body } = await answer(webhook, context, { headers: request.headers, read })
  return Response.json(body, { status })
}
