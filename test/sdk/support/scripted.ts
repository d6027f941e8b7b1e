import { type ClientOptions, createReferralClient } from '@referral/sdk'

/** What the service does with one attempt: answers, breaks the connection (an error), or never answers. */
export type Step = Response | Error | 'hang' | ((request: Request) => Response | Promise<Response>)

export const json = (status: number, body: unknown, headers: Record<string, string> = {}): Response =>
  Response.json(body, { status, headers: { 'X-Request-Id': 'req_1', ...headers } })

export const refusal = (status: number, code: string, headers: Record<string, string> = {}): Response =>
  json(status, { error: `Refused: ${code}.` }, { 'X-Error-Code': code, ...headers })

/** What undici rejects with. */
export const broken = (code: string): Error =>
  Object.assign(new TypeError('fetch failed'), { cause: Object.assign(new Error(code), { code }) })

/** A client of a service that follows a script, one step per attempt; the last step repeats. */
export const scripted = (steps: Step[], options: Partial<ClientOptions> = {}) => {
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
