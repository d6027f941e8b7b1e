import { type ClientOptions, createReferralClient } from '@referral/sdk'
import { anyReply } from '../../../sdk/scripts/any-reply.ts'

/** What the server does with one attempt: responds, breaks the connection (an error), or never responds. */
export type Step = Response | Error | 'hang' | ((request: Request) => Response | Promise<Response>)

export const jsonResponse = (status: number, body: unknown, headers: Record<string, string> = {}): Response =>
  Response.json(body, { status, headers: { 'X-Request-Id': 'req_1', ...headers } })

/** A body with the documented properties of every success, and no items. */
export const success = { ...anyReply, data: [] }

export const errorResponse = (status: number, code: string, headers: Record<string, string> = {}): Response =>
  jsonResponse(status, { error: `Rejected: ${code}.` }, { 'X-Error-Code': code, ...headers })

/** The error that undici rejects with. */
export const connectionError = (code: string): Error =>
  Object.assign(new TypeError('fetch failed'), { cause: Object.assign(new Error(code), { code }) })

/** Returns a client of a server that follows a script, one step per attempt; the last step repeats. */
export const scriptedClient = (steps: Step[], options: Partial<ClientOptions> = {}) => {
  const requests: { method: string; url: string; headers: Headers; body: unknown }[] = []
  const fetch = async (request: Request): Promise<Response> => {
    const text = await request.clone().text()
    requests.push({
      method: request.method,
      url: request.url,
      headers: request.headers,
      body: text ? JSON.parse(text) : undefined,
    })
    const step = steps[Math.min(requests.length, steps.length) - 1]!
    if (step === 'hang') return new Promise(() => {})
    if (step instanceof Error) throw step
    return step instanceof Response ? step.clone() : step(request)
  }
  const client = createReferralClient({ apiKey: 'rk_test', baseUrl: 'https://api.example', fetch, ...options })
  return { client, requests }
}
