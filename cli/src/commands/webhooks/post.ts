import { usageError } from '../../errors.ts'

/** The response of a receiver; `status` is undefined when there was none. */
export interface ReceiverResponse {
  status: number | undefined
  ms: number
}

const TIMEOUT_MS = 10_000

/** Parses the URL of a receiver: http or https, including one on this machine. */
export function parseReceiverUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw usageError(`${text} is not a URL such as http://localhost:3000/webhooks.`)
  return text
}

/** Posts the bytes unchanged. Like the service, it does not follow redirects. */
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
    // Connection refused, reset or timed out.
    return { status: undefined, ms: ms() }
  }
}
