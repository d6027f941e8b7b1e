import { within } from './deadline.ts'
import { ConnectionError, type ErrorFacts, TimeoutError } from './errors.ts'
import type { Fetch } from './options.ts'

/** What came back; `json` is undefined when the body is none. */
export interface Answer {
  response: Response
  text: string
  json: unknown
}

/** How one attempt is made. */
export interface AttemptOptions {
  fetch: Fetch
  timeoutMs: number
  signal: AbortSignal | undefined
  facts: ErrorFacts
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Sends once and reads the whole body. Rejects with AbortedError, TimeoutError or ConnectionError. */
export const attemptOnce = (url: string, init: RequestInit, options: AttemptOptions): Promise<Answer> => {
  const { fetch, timeoutMs, signal, facts } = options
  // A redirect is not followed: it would carry the key elsewhere, and turn a POST into a GET.
  const send = async (own: AbortSignal): Promise<Answer> => {
    const request = new Request(url, { ...init, redirect: 'manual', signal: own })
    try {
      const response = await fetch(request)
      const text = await response.text()
      return { response, text, json: parse(text) }
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : cause
      throw new ConnectionError(`No answer from ${new URL(url).origin}: ${why}`, { ...facts, cause })
    }
  }
  const onTimeout = () => new TimeoutError(`No answer within ${timeoutMs} ms.`, facts)
  return within(send, { signal, facts, timeoutMs, onTimeout })
}
