import { usageError } from '../exit.ts'

/** What a receiver answered; no status when it did not. */
export interface ReceiverResponse {
  status: number | undefined
  ms: number
}

const TIMEOUT_MS = 10_000

/** An address of a receiver: any http or https, this machine included. */
export function parseReceiverUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw usageError(`${text} is no address like http://localhost:3000/webhooks.`)
  return text
}

/** Posts the bytes as they are. Redirects are not followed, as the service does not follow them. */
export async function postDelivery(
  url: string,
  { body, headers, signal }: { body: Uint8Array<ArrayBuffer>; headers: Record<string, string>; signal?: AbortSignal },
): Promise<ReceiverResponse> {
  const started = performance.now()
  const ms = () => Math.round(performance.now() - started)
  const timeout = AbortSignal.timeout(TIMEOUT_MS)
  try {
    const response = await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      body,
      headers,
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    })
    await response.body?.cancel()
    return { status: response.status, ms: ms() }
  } catch {
    // Refused, reset or too late: all of it is no answer.
    return { status: undefined, ms: ms() }
  }
}
