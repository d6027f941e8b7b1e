import { within } from './deadline.ts'
import { AbortedError, ConnectionError, type ErrorFacts, type ReferralError, TimeoutError } from './errors.ts'
import type { Fetch } from './options.ts'

/** What came back. `json` is undefined when the body is none. */
export interface Answer {
  response: Response
  text: string
  json: unknown
}

/** A rejection by the caller's signal, by time, or of the connection. */
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

/** What to throw when the caller's signal is aborted. */
export const aborted = (signal: AbortSignal | undefined, facts: ErrorFacts): ReferralError =>
  new AbortedError('The call was aborted.', { ...facts, cause: signal?.reason })

/** Sends once and reads the whole body. Rejects with AbortedError, TimeoutError or ConnectionError. */
export const attemptOnce = (
  url: string,
  init: RequestInit,
  { fetch, timeoutMs, signal, facts }: AttemptOptions,
): Promise<Answer> => {
  let response: Response | undefined
  const send = async (own: AbortSignal): Promise<Answer> => {
    try {
      response = await fetch(new Request(url, { ...init, redirect: 'manual', signal: own }))
      const text = await response.text()
      return { response, text, json: parse(text) }
    } catch (cause) {
      throw new ConnectionError(`No answer from ${new URL(url).origin}: ${(cause as Error)?.message}`, {
        ...facts,
        cause,
      })
    }
  }
  return within(send, timeoutMs, {
    signal,
    onTimeout: () => new TimeoutError(`No answer within ${timeoutMs} ms.`, facts),
    onAbort: () => aborted(signal, facts),
  })
}
