import { WebhookError, type WebhookErrorCode } from './error.ts'
import type { WebhookEvent } from './event.ts'
import type { SignatureFacts } from './hmac.ts'
import { type HeadersLike, type Received, type ReceiveOptions, receive } from './receive.ts'

export interface AdapterOptions extends ReceiveOptions {
  /** The longest body that is read, in bytes. Default 2097152 (2 MiB); the sender stays far below. */
  maxBytes?: number | undefined
  /** Told about every refusal but duplicates. Default: one line on `console.warn`. The caller is only told the code. */
  onRefused?: ((error: WebhookError) => void) | undefined
}

/** Fixed options, or what gives them for one request, where the secret is only known then. */
export type OptionsFor<Context> = AdapterOptions | ((context: Context) => AdapterOptions | Promise<AdapterOptions>)

/** Does the work of one proven event. What it throws goes to the framework, so the caller sees a failure. */
export type WebhookHandler<Context> = (event: WebhookEvent, facts: SignatureFacts, context: Context) => unknown

/** The webhook a framework serves: its options, its work, and what the framework calls a request. */
export interface Webhook<Context> {
  options: OptionsFor<Context>
  handler: WebhookHandler<Context>
}

export interface Answer {
  status: number
  body: { ok: true } | { error: WebhookErrorCode }
}

const statuses: { [code in WebhookErrorCode]?: number } = {
  duplicate: 200,
  secret_invalid: 500,
  body_parsed: 500,
  body_too_large: 413,
}

const warn = (error: WebhookError) => console.warn(error.message)

/** Reads, proves and handles one delivery. Only a {@link WebhookError} is turned into an answer. */
export const answer = async <Context>(
  { options, handler }: Webhook<Context>,
  context: Context,
  delivery: { headers: HeadersLike; read: (maxBytes: number) => unknown },
): Promise<Answer> => {
  const chosen = typeof options === 'function' ? await options(context) : options
  let received: Received
  try {
    const body = await delivery.read(chosen.maxBytes ?? 2_097_152)
    received = await receive({ headers: delivery.headers, body }, chosen)
  } catch (error) {
    if (!(error instanceof WebhookError)) throw error
    if (error.code === 'duplicate') return { status: 200, body: { ok: true } }
    const { onRefused = warn } = chosen
    onRefused(error)
    return { status: statuses[error.code] ?? 400, body: { error: error.code } }
  }
  await handler(received.event, received.facts, context)
  return { status: 200, body: { ok: true } }
}
