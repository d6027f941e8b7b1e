import { randomInt, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { NotApplicable, RuleBroken, SetupFailed } from './check.ts'
import type { CallOptions, Client, Reply } from './client.ts'
import { scopes } from './generated/contract.ts'
import type { Receiver } from './receiver.ts'
import { wrongTimestamp } from './schema.ts'

// biome-ignore lint/suspicious/noExplicitAny: checks read responses of every shape
export type Json = any

/** The shop under test. */
export interface Shop {
  client: Client
  /** The key that the run was started with. */
  key: string
  ownerToken: string | undefined
  /** A key of another shop of the same server. */
  otherKey: string | undefined
  receiver: Receiver | undefined
  /** Whether the shop exists for this run only. */
  isTestShop: boolean
  /** How long checks wait for a webhook. */
  webhookTimeoutMs: number
  mayChangeSettings: boolean
}

const DAY_MS = 86_400_000

/** What a check can do: send requests, create its own data, and state what it expects. */
export class Context {
  readonly shop: Shop
  /** Prefix of every name, so that concurrent runs do not collide. */
  readonly run: string
  /** What every response has shown so far. */
  readonly seen: Observations
  readonly #shared: Map<string, Promise<Json>>
  #count = 0
  readonly #check: string

  constructor(given: {
    shop: Shop
    run: string
    seen: Observations
    shared: Map<string, Promise<Json>>
    check: string
  }) {
    this.shop = given.shop
    this.run = given.run
    this.seen = given.seen
    this.#shared = given.shared
    this.#check = given.check
  }

  /** A name that nothing else has. */
  id(label = 'x'): string {
    return `cf-${this.run}-${this.#check.replace(/\W/g, '-')}-${label}${++this.#count}`
  }

  email(label = 'a'): string {
    return `${this.id(label)}@conformance.example`
  }

  /** A code that nothing else has. */
  code(): string {
    return randomCode(8)
  }

  // Requests

  call = (method: string, path: string, options?: CallOptions): Promise<Reply> =>
    this.shop.client.call(method, path, options)
  get = (path: string, query?: CallOptions['query'], options: CallOptions = {}) =>
    this.call('GET', `/api/v1${path}`, { query, ...options })
  post = (path: string, body?: unknown, options: CallOptions = {}) =>
    this.call('POST', `/api/v1${path}`, { body, ...options })
  patch = (path: string, body?: unknown, options: CallOptions = {}) =>
    this.call('PATCH', `/api/v1${path}`, { body, ...options })
  delete = (path: string, options: CallOptions = {}) => this.call('DELETE', `/api/v1${path}`, options)

  /** A request with the owner's token. */
  owner = (method: string, path: string, body?: unknown, query?: CallOptions['query']): Promise<Reply> => {
    if (!this.shop.ownerToken) throw new NotApplicable('requires an owner token')
    return this.call(method, `/admin/v1${path}`, { body, query, key: this.shop.ownerToken })
  }

  /** Reports an order under a new Idempotency-Key. */
  report = (body: Json, { headers, ...options }: CallOptions = {}) =>
    this.post('/events', body, { headers: { 'Idempotency-Key': randomUUID(), ...headers }, ...options })

  /** What the server would decide about an order, without recording it. */
  decide = async (body: Json): Promise<Json> =>
    this.expect(
      await this.post('/events', { externalOrderId: this.id('dry'), ...body }, { query: { dryRun: '1' } }),
      200,
    )

  /** Reports an order that must be accepted, and returns the decision. */
  order = async (body: Json, options?: CallOptions): Promise<Json> =>
    this.expect(await this.report({ externalOrderId: this.id('o'), ...body }, options), 201)

  /** The commissions of an order. */
  commissionsOf = async (externalOrderId: string): Promise<Json[]> =>
    this.expect(await this.get('/commissions', { externalOrderId }), 200).data

  /** The only commission of an order. */
  commissionOf = async (externalOrderId: string): Promise<Json> => {
    const rows = await this.commissionsOf(externalOrderId)
    if (rows?.length !== 1) throw new RuleBroken(`order ${externalOrderId} has ${rows?.length} commissions, not 1`)
    return rows[0]
  }

  /** The last page of programs: the oldest, newest first. */
  oldestPrograms = async (): Promise<Json[]> => {
    const { data, pagination } = this.expect(await this.get('/programs', { limit: 100 }), 200)
    if (pagination.totalPages <= 1) return data
    return this.expect(await this.get('/programs', { limit: 100, page: pagination.totalPages }), 200).data
  }

  /** The commissions of an affiliate. */
  rowsOf = async (affiliateId: string): Promise<Json[]> =>
    this.expect(await this.get('/commissions', { affiliateId, limit: 100 }), 200).data

  /** Changes webhook subscriptions: one at a time, because concurrent changes return 409, and again while another caller changes them. */
  settled = async (send: () => Promise<Reply>): Promise<Reply> => {
    const lock: { last: Promise<unknown> } = await this.once('lock', async () => ({ last: Promise.resolve() }))
    const turn = lock.last.then(async () => {
      for (let attempt = 1; ; attempt++) {
        const reply = await send()
        if (reply.headers.get('X-Error-Code') !== 'concurrent_change' || attempt === 10) return reply
        await sleep(randomInt(10, 100))
      }
    })
    lock.last = turn.catch(() => {})
    return turn
  }

  /** Sends the same request several times at once. */
  together = (count: number, send: (n: number) => Promise<Reply>): Promise<Reply[]> =>
    Promise.all(Array.from({ length: count }, (_, n) => send(n)))

  // Data

  program = (given: Json = {}): Promise<Json> =>
    this.#setup('a program', async () => {
      const { lifetimeCommission, ...create } = { name: this.id('Program'), autoApproveOrder: true, ...given }
      const reply = await this.post('/programs', create)
      if (reply.status >= 300 || lifetimeCommission === undefined) return reply
      return this.patch(`/programs?id=${reply.body.data.id}`, { lifetimeCommission })
    })

  /** An affiliate with the status `APPROVED`, in a program of 16% unless `campaignId` names another one. */
  affiliate = async (given: Json = {}): Promise<Json> => {
    const { status = 'APPROVED', code, ...rest } = given
    // Most programs of a run approve their affiliates, which saves a request.
    const shared = () => (status === 'PENDING' ? this.#programByHand() : this.sharedProgram())
    const campaignId = 'campaignId' in rest ? rest.campaignId : (await shared()).id
    const create = { name: 'Conformance Check', email: this.email(), ...rest, campaignId: campaignId ?? undefined }
    let affiliate = await this.#setup('an affiliate', () => this.post('/affiliates', create))
    const changes = {
      ...(affiliate.status === status ? {} : { status }),
      ...(campaignId === null ? { campaignId } : {}),
    }
    if (Object.keys(changes).length)
      affiliate = await this.#setup('an affiliate', () => this.patch(`/affiliates?id=${affiliate.id}`, changes))
    if (!code) return affiliate
    await this.#setup('a coupon', () => this.post('/coupons', { affiliateId: affiliate.id, code }))
    return { ...affiliate, discountCode: code }
  }

  /** A key with every scope to read (`reads`) or to write (`writes`), shared by the checks. */
  sharedKey = (name: 'reads' | 'writes'): Promise<string> =>
    this.once(`key-${name}`, async () => {
      const own = scopes.filter((scope) => scope.endsWith(name === 'reads' ? ':read' : ':write'))
      const body = { label: `conformance ${this.run} ${name}`, scopes: own }
      return (await this.#setup('a key', () => this.owner('POST', '/keys', body))).secret
    })

  /** A program of 16% that approves orders, for checks that change nothing about it. */
  sharedProgram = (): Promise<Json> => this.once('program', () => this.program({ autoApproveAffiliate: true }))

  #programByHand = (): Promise<Json> => this.once('program-by-hand', () => this.program())

  /** An approved affiliate of {@link sharedProgram}, for checks that change nothing about it. */
  sharedAffiliate = (): Promise<Json> => this.once('affiliate', () => this.affiliate())

  /** An affiliate of a program with these settings. */
  affiliateOf = async (program: Json, affiliate: Json = {}): Promise<Json> =>
    this.affiliate({
      campaignId: (await this.program({ autoApproveAffiliate: affiliate.status !== 'PENDING', ...program })).id,
      ...affiliate,
    })

  /** An instant long ago that no other check uses, at the start of a day. */
  day = (): string => new Date(randomInt(3650, 14_000) * DAY_MS).toISOString()

  /** An open batch with one commission of `amountCents` goods of a new affiliate. */
  batch = async (amountCents = 10_000, program: Json = {}): Promise<Json> => {
    const affiliate = await this.affiliateOf(program)
    const [day, externalOrderId] = [this.day(), this.id('o')]
    await this.order({ externalOrderId, amountCents, couponCode: affiliate.discountCode, occurredAt: day })
    const made = await this.#setup('a payout batch', () => this.post('/payouts', this.periodOf(day, affiliate)))
    return { ...made, affiliate, externalOrderId, day }
  }

  /** The body that creates a batch of one affiliate's commissions of a day. */
  periodOf = (day: string, affiliate: Json, rest: Json = {}): Json => ({
    periodStart: day,
    periodEnd: after(day, DAY_MS - 1),
    affiliateIds: [affiliate.id],
    ...rest,
  })

  pay = async (batchId: string): Promise<void> => {
    await this.#setup('a paid batch', () => this.patch(`/payouts?id=${batchId}&action=pay`))
  }

  /** Creates something that several checks share. */
  once(name: string, create: () => Promise<Json>): Promise<Json> {
    const known = this.#shared.get(name)
    if (known) return known
    const made = create()
    this.#shared.set(name, made)
    return made
  }

  async #setup(what: string, send: () => Promise<Reply>): Promise<Json> {
    const { status, text, body } = await send()
    if (status < 200 || status >= 300 || typeof body !== 'object')
      throw new SetupFailed(`${what} could not be created: ${status} ${text.slice(0, 200)}`)
    return body?.data ?? body
  }

  // Expectations

  /** Expects a status and, for errors, the code. Returns the body. */
  expect = (reply: Reply, status: number, code?: string): Json => {
    const given = reply.headers.get('X-Error-Code')
    const shown = `${reply.method} ${reply.path}: ${reply.status}${given ? ` ${given}` : ''}`
    if (reply.status !== status) throw new RuleBroken(`expected ${status}, received ${shown} ${clip(reply.text)}`)
    if (code && given !== code) throw new RuleBroken(`expected X-Error-Code ${code}, received ${shown}`)
    if (code && !String(reply.body?.error ?? '').trim())
      throw new RuleBroken(`the body has no error: ${clip(reply.text)}`)
    return reply.body
  }

  equal = (actual: unknown, expected: unknown, what: string): void => {
    if (!isEqual(actual, expected))
      throw new RuleBroken(
        `${what} must be ${JSON.stringify(expected)}, is ${clip(JSON.stringify(actual) ?? 'undefined')}`,
      )
  }

  ok = (condition: unknown, what: string): void => {
    if (!condition) throw new RuleBroken(what)
  }

  /** Expects the named fields of an object. */
  fields = (actual: Json, expected: Record<string, unknown>, what: string): void => {
    for (const [name, value] of Object.entries(expected)) this.equal(actual?.[name], value, `${what}.${name}`)
  }

  skip = (reason: string): never => {
    throw new NotApplicable(reason)
  }

  /** Waits until `find` finds something. Returns undefined after `ms`. */
  until = async <T>(find: () => Promise<T | undefined> | T | undefined, ms = 5000): Promise<T | undefined> => {
    for (const end = Date.now() + ms; ; await sleep(25)) {
      const found = await find()
      if (found !== undefined || Date.now() > end) return found
    }
  }

  sleep = (ms: number) => sleep(ms)
}

const LETTERS = 'ABCDEFGHIJKLMNPQRSTUVWXYZ123456789'

export const randomCode = (length: number): string =>
  Array.from({ length }, () => LETTERS[randomInt(LETTERS.length)]).join('')

/** An instant some milliseconds after another one. */
export const after = (instant: string, ms: number): string => new Date(Date.parse(instant) + ms).toISOString()

const clip = (text: string) => (text.length > 300 ? `${text.slice(0, 300)}…` : text)

function isEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  const [left, right] = [Object.entries(a), Object.entries(b)]
  return (
    left.length === right.length && left.every(([name, value]) => isEqual(value, (b as Record<string, unknown>)[name]))
  )
}

/** The first violation of each rule that applies to every response. */
export class Observations {
  readonly problems = new Map<string, string>()
  readonly operations = new Map<string, string | undefined>()
  responses = 0
  errors = 0

  readonly #operationOf: (
    method: string,
    path: string,
  ) => { id: string; check: (reply: Reply) => string | undefined } | undefined

  constructor(
    operationOf: (
      method: string,
      path: string,
    ) => { id: string; check: (reply: Reply) => string | undefined } | undefined,
  ) {
    this.#operationOf = operationOf
  }

  note = (reply: Reply): void => {
    const { method, path, status, headers, body } = reply
    const where = `${method} ${path} ${status}`
    const problem = (rule: string, text: string) => {
      if (!this.problems.has(rule)) this.problems.set(rule, `${where}: ${text}`)
    }
    this.responses++
    if (!headers.get('X-Request-Id')) problem('request-id', 'no X-Request-Id')
    if (path.startsWith('/api/v1/'))
      for (const name of ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'])
        if (!/^\d+$/.test(headers.get(name) ?? '')) problem('rate-limit-headers', `${name} is ${headers.get(name)}`)
    if (status >= 400) {
      this.errors++
      if (!/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(headers.get('X-Error-Code') ?? ''))
        problem('error-code', `X-Error-Code is ${headers.get('X-Error-Code')}`)
      if (
        typeof body !== 'object' ||
        body === null ||
        Object.keys(body).join() !== 'error' ||
        typeof body.error !== 'string'
      )
        problem('error-body', clip(reply.text))
      if ([429, 503].includes(status) && !/^\d+$/.test(headers.get('Retry-After') ?? ''))
        problem('retry-after', 'no Retry-After')
      if (status >= 500 && status !== 503) problem('server-error', clip(reply.text))
      return
    }
    if (typeof body === 'object') {
      const wrong = wrongTimestamp(body)
      if (wrong) problem('timestamps', wrong)
    }
    const operation = this.#operationOf(method, path)
    if (!operation) return
    const wrong = operation.check(reply)
    if (!this.operations.get(operation.id)) this.operations.set(operation.id, wrong && `${where}: ${wrong}`)
  }
}
