import { setTimeout as sleep } from 'node:timers/promises'

export interface Reply {
  method: string
  path: string
  status: number
  headers: Headers
  /** The parsed body, or its text. */
  // biome-ignore lint/suspicious/noExplicitAny: checks read responses of every shape
  body: any
  text: string
}

export interface CallOptions {
  body?: unknown
  /** Sent unchanged instead of `body`. */
  raw?: string | Uint8Array
  headers?: Record<string, string>
  /** Another credential than a key of the shop; null for none. */
  key?: string | null
  query?: Record<string, string | number | undefined>
}

/** Sends a request. */
export type Fetch = (url: URL, init: RequestInit) => Promise<Response>

interface KeyBudget {
  secret: string
  remaining: number
  /** When the window ends, in milliseconds since the Unix epoch. */
  resetAt: number
}

const WINDOW_MS = 60_000
const MAX_THROTTLED = 4

/** Sends requests, and never more than the rate limit of the keys allows. */
export class Client {
  readonly #baseUrl: string
  readonly #timeoutMs: number
  readonly #fetch: Fetch
  readonly #keys: KeyBudget[]
  readonly #observe: (reply: Reply, credential: string | null) => void
  /** Creates another key of the shop, when an owner token allows it. */
  moreKeys: (() => Promise<string | undefined>) | undefined
  /** Requests sent so far. */
  requests = 0
  /** Time spent waiting for rate limits. */
  waitedMs = 0

  constructor(options: {
    baseUrl: string
    key: string
    timeoutMs: number
    fetch: Fetch
    observe: (reply: Reply, credential: string | null) => void
  }) {
    this.#baseUrl = options.baseUrl.replace(/\/+$/, '')
    this.#timeoutMs = options.timeoutMs
    this.#fetch = options.fetch
    this.#keys = [newBudget(options.key)]
    this.#observe = options.observe
  }

  /** Sends a request with a key of the shop, or with the credential given. */
  async call(method: string, path: string, options: CallOptions = {}): Promise<Reply> {
    if (options.key !== undefined) return this.send(method, path, options, options.key)
    for (let attempt = 1; ; attempt++) {
      const budget = await this.#nextKey()
      const reply = await this.send(method, path, options, budget.secret)
      readBudget(budget, reply.headers)
      if (reply.status !== 429 || attempt === MAX_THROTTLED) return reply
      budget.remaining = 0
    }
  }

  /** Sends one request with exactly this credential. */
  async send(method: string, path: string, options: CallOptions, credential: string | null): Promise<Reply> {
    const { body, raw, headers = {}, query = {} } = options
    const url = new URL(this.#baseUrl + path)
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.append(name, String(value))
    const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    this.requests++
    const response = await this.#fetch(url, {
      method,
      headers: {
        ...(credential === null ? {} : { Authorization: `Bearer ${credential}` }),
        ...(payload === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      body: payload as BodyInit | undefined,
      redirect: 'manual',
      signal: AbortSignal.timeout(this.#timeoutMs),
    })
    const text = await response.text()
    const reply = { method, path, status: response.status, headers: response.headers, text, body: parse(text) }
    this.#observe(reply, credential)
    return reply
  }

  async #nextKey(): Promise<KeyBudget> {
    for (;;) {
      const now = Date.now()
      for (const key of this.#keys) if (key.resetAt <= now) Object.assign(key, newBudget(key.secret))
      const best = this.#keys.reduce((a, b) => (b.remaining > a.remaining ? b : a))
      if (best.remaining > 0) {
        best.remaining--
        return best
      }
      const secret = await this.moreKeys?.()
      if (secret) this.#keys.push(newBudget(secret))
      else {
        const wait = Math.max(50, Math.min(...this.#keys.map(({ resetAt }) => resetAt)) - now)
        this.waitedMs += wait
        await sleep(wait)
      }
    }
  }
}

// A few requests are left for callers outside this run.
const newBudget = (secret: string): KeyBudget => ({ secret, remaining: 20, resetAt: Date.now() + WINDOW_MS })

function readBudget(budget: KeyBudget, headers: Headers): void {
  const [remaining, reset] = ['X-RateLimit-Remaining', 'X-RateLimit-Reset'].map((name) =>
    Number.parseInt(headers.get(name) ?? '', 10),
  )
  if (remaining === undefined || reset === undefined || Number.isNaN(remaining) || Number.isNaN(reset)) {
    // Without the headers, a 429 is the only sign of the limit.
    budget.remaining = 20
    return
  }
  budget.remaining = Math.max(0, remaining - 5)
  budget.resetAt = Date.now() + (reset + 0.25) * 1000
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
