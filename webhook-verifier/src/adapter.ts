import { WebhookError, type WebhookErrorCode } from './error.ts'
import type { WebhookEvent } from './event.ts'
import { type HeadersLike, type Received, type ReceiveOptions, receive } from './receive.ts'
import { listSecrets, type Verification } from './signature.ts'

/** Options of every `webhook` adapter. */
export interface AdapterOptions extends ReceiveOptions {
  /** A body's maximum size in bytes. Defaults to 2097152 (2 MiB); deliveries are far smaller. */
  maxBytes?: number | undefined
  /**
   * Called for every rejected delivery except duplicates. Defaults to one line on `console.warn`. The sender only receives
   * the code.
   */
  onRejected?: ((error: WebhookError) => void) | undefined
}

/** Options, or a function that returns them for one request, where the secret depends on it. */
export type OptionsFor<Context> = AdapterOptions | ((context: Context) => AdapterOptions | Promise<AdapterOptions>)

/** Handles a verified event. An error it throws is passed to the framework, so that the sender receives a failure. */
export type WebhookHandler<Context> = (event: WebhookEvent, verification: Verification, context: Context) => unknown

/** The arguments of an adapter. `Context` is the framework's request. */
export interface Webhook<Context> {
  options: OptionsFor<Context>
  handler: WebhookHandler<Context>
}

/**
 * Checks the secret when the receiver is made: a missing variable fails the start instead of every delivery.
 *
 * @throws {WebhookError} `secret_invalid`, unless the options are a function.
 */
export const defineWebhook = <Context>(
  options: OptionsFor<Context>,
  handler: WebhookHandler<Context>,
): Webhook<Context> => {
  if (typeof options !== 'function') listSecrets(options.secret)
  return { options, handler }
}

/** The response to a delivery. */
export interface AdapterResponse {
  status: number
  body: { ok: true } | { error: WebhookErrorCode }
}

const statuses: { [code in WebhookErrorCode]?: number } = {
  secret_invalid: 500,
  body_parsed: 500,
  body_too_large: 413,
}

const logRejection = (error: WebhookError) => console.warn(error.message)

/** Reads, verifies and handles one delivery. Throws what the handler throws. */
export const handleDelivery = async <Context>(
  { options, handler }: Webhook<Context>,
  context: Context,
  delivery: { headers: HeadersLike; read: (maxBytes: number) => unknown },
): Promise<AdapterResponse> => {
  const resolved = typeof options === 'function' ? await options(context) : options
  let received: Received
  try {
    const body = await delivery.read(resolved.maxBytes ?? 2_097_152)
    received = await receive({ headers: delivery.headers, body }, resolved)
  } catch (error) {
    if (!(error instanceof WebhookError)) throw error
    if (error.code === 'duplicate') return { status: 200, body: { ok: true } }
    const { onRejected = logRejection } = resolved
    onRejected(error)
    return { status: statuses[error.code] ?? 400, body: { error: error.code } }
  }
  await handler(received.event, received.verification, context)
  return { status: 200, body: { ok: true } }
}
