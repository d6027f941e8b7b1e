/** The kinds of faults to inject. */
export type FaultKind =
  /** The connection is refused; the server never sees the request. */
  | 'unreachable'
  /** The server handles the request, and the connection breaks before the response arrives. */
  | 'reset'
  /** No response; the server never sees the request. */
  | 'hang'
  /** A proxy responds with 200 and an HTML page. */
  | 'html'
  /** The server handles the request, and a gateway responds with 502. */
  | 'bad_gateway'
  /** 429; the window opens again in 30 seconds. */
  | 'rate_limited'
  /** 503; nothing is written. */
  | 'unavailable'

/** Which requests a fault applies to. */
export interface FaultOptions {
  /** Number of requests. Default 1. */
  times?: number
  method?: string
  /** The path without the query, such as `/api/v1/events`. */
  path?: string
}

type Serve = (request: Request) => Promise<Response>

const broken = (code: string): TypeError =>
  new TypeError('fetch failed', { cause: Object.assign(new Error(`connection failed: ${code}`), { code }) })

const errorResponse = (status: number, code: string, seconds: number): Response =>
  Response.json(
    { error: 'A fault was injected. Retry.' },
    {
      status,
      headers: {
        'X-Error-Code': code,
        'X-Request-Id': 'req_fault',
        'X-RateLimit-Limit': '100',
        'X-RateLimit-Remaining': '0',
        'X-RateLimit-Reset': `${seconds}`,
        'Retry-After': `${seconds}`,
      },
    },
  )

const html = (status: number) =>
  new Response('<!doctype html><title>Proxy</title>', { status, headers: { 'Content-Type': 'text/html' } })

const act: Record<FaultKind, (serve: Serve, request: Request) => Promise<Response>> = {
  unreachable: async () => {
    throw broken('ECONNREFUSED')
  },
  reset: async (serve, request) => {
    await serve(request)
    throw broken('ECONNRESET')
  },
  hang: (_, { signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  html: async () => html(200),
  bad_gateway: async (serve, request) => {
    await serve(request)
    return html(502)
  },
  rate_limited: async () => errorResponse(429, 'rate_limited', 30),
  unavailable: async () => errorResponse(503, 'storage_unavailable', 1),
}

/** Wraps a server's `fetch` and injects the planned faults. */
export const withFaults = (serve: Serve) => {
  const planned: { kind: FaultKind; left: number; options: FaultOptions }[] = []
  return {
    fail: (kind: FaultKind, options: FaultOptions = {}): void => {
      planned.push({ kind, left: options.times ?? 1, options })
    },
    fetch: async (input: Request | string | URL, init?: RequestInit): Promise<Response> => {
      const request = new Request(input, init)
      const { pathname } = new URL(request.url)
      const fault = planned.find(
        ({ left, options: { method = request.method, path = pathname } }) =>
          left > 0 && method === request.method && path === pathname,
      )
      if (!fault) return serve(request)
      fault.left -= 1
      return act[fault.kind](serve, request)
    },
  }
}
