import { usageError } from '../../errors.ts'

/** A receiver's response. `status` is undefined if there was none. */
export interface ReceiverResponse {
  status: number | undefined
  ms: number
  /** The receiver's reason for rejecting the delivery, or why there was no response. */
  reason?: string
}

const TIMEOUT_MS = 10_000

/** Parses a receiver's URL, which may be on this machine. `localhost:3000` means http. */
export function parseReceiverUrl(text: string): string {
  const url = /^(localhost|[\w.-]+:\d+)(?=[:/]|$)/i.test(text) ? `http://${text}` : text
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw usageError(`${text} is not a URL such as http://localhost:3000/webhooks.`)
  return url
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
    if (response.ok) {
      await response.body?.cancel()
      return { status: response.status, ms: ms() }
    }
    return { status: response.status, ms: ms(), reason: await readReason(response).catch(() => '') }
  } catch (error) {
    // Connection refused, reset or timed out.
    const { cause, message } = error as Error & { cause?: { code?: string } }
    return { status: undefined, ms: ms(), reason: cause?.code ?? message }
  }
}

const MAX_REASON_LENGTH = 200

/** The start of an error's body, which usually names the problem. */
async function readReason(response: Response): Promise<string> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length >= MAX_REASON_LENGTH) break
  }
  return text.trim().slice(0, MAX_REASON_LENGTH)
}
