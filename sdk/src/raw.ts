import createClient, { type Client } from 'openapi-fetch'
import type { Core } from './core.ts'
import { operations } from './operations.ts'
import type { CallOptions } from './options.ts'
import type { Retry } from './retry.ts'
import type { paths } from './schema.ts'
import { settle } from './settle.ts'
import { ApiError } from './status-errors.ts'

/**
 * Every operation as it stands in openapi.yaml: `{ data, error, response }`, where `error` is what the service says.
 * Sent with the client's retries and time-outs; throws only when there is no answer of the API.
 */
export type Raw = Pick<Client<paths>, 'GET' | 'POST' | 'PATCH' | 'DELETE'>

/** The raw client over the same retries. The only place that knows openapi-fetch. */
export const createRaw = (core: Core): Raw => {
  const raw = createClient<paths>({ baseUrl: core.baseUrl })
  raw.use({
    async onRequest({ request, schemaPath, options: { parseAs } }) {
      const { method, url, signal } = request
      const retry: Retry =
        Object.values(operations).find(([verb, path]) => verb === method && path === schemaPath)?.[2] ?? 'never'
      const headers = core.headers(request.headers, retry)
      const { timeoutMs, totalTimeoutMs, maxRetries } = request as unknown as CallOptions
      const job = { method, url, retry, headers, body: (await request.text()) || undefined }
      const outcome = await core.send({ ...job, options: { signal, timeoutMs, totalTimeoutMs, maxRetries } })
      const idempotencyKey = headers.get('Idempotency-Key') ?? undefined
      const error = settle(outcome, { idempotencyKey }, undefined, method === 'GET')
      const wanted = error instanceof ApiError || (parseAs !== 'json' && outcome.answer?.response.ok)
      if (error && !wanted) throw error
      const { response, text } = outcome.answer!
      return new Response(text || null, response)
    },
  })
  return raw
}
