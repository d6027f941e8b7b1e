import { randomBytes } from 'node:crypto'
import { type Check, NotApplicable, type Requirement, SetupFailed, type Suite } from './check.ts'
import { checks as allChecks } from './checks/all.ts'
import { Client, type Fetch, type Reply } from './client.ts'
import { Context, type Json, Observations, type Shop } from './context.ts'
import { Created } from './created.ts'
import { operations, scopes } from './generated/contract.ts'
import { type ReceiverOptions, startReceiver } from './receiver.ts'
import { mismatch } from './schema.ts'

export interface ConformanceOptions {
  /** The server, without `/api/v1`. */
  baseUrl: string
  /** An API key with every scope. */
  key: string
  /** The token of an owner: adds the suite `owner`, and keys for more requests per minute. */
  ownerToken?: string | undefined
  /** A key of another shop, for the isolation of shops. */
  otherKey?: string | undefined
  /** Default: all. */
  suites?: readonly Suite[] | undefined
  /** Only checks whose name starts with one of these. */
  only?: readonly string[] | undefined
  /** Where webhooks are received. Default: a free port on loopback. */
  receiver?: ReceiverOptions | undefined
  /** Runs in two new test shops of the owner's shop if the server has them, and deletes them afterwards. */
  useTestShops?: boolean | undefined
  /** Also run checks that change settings of the shop for a moment. Always true for a test shop. */
  changeSettings?: boolean | undefined
  /** Checks that run at the same time. Default: 4. */
  concurrency?: number | undefined
  /** Time limit of a request. Default: 30 seconds. */
  timeoutMs?: number | undefined
  /** How long a webhook may take. Default: 8 seconds. */
  webhookTimeoutMs?: number | undefined
  /** Sends the requests. Default: `fetch`. */
  fetch?: Fetch | undefined
  /** Ends the run: the checks that run are finished, and what the run created is removed. */
  signal?: AbortSignal | undefined
  onResult?: ((result: CheckResult, done: number, total: number) => void) | undefined
}

export interface CheckResult {
  name: string
  rule: string
  suite: Suite
  /** The address of the page that describes the rule. */
  link: string
  status: 'passed' | 'failed' | 'skipped'
  /** Why it failed or was skipped. */
  message: string | null
  /** What the check needs could not be created, so the rule itself was not tested. */
  isSetup: boolean
  ms: number
}

export interface ConformanceReport {
  baseUrl: string
  /** Part of the name of everything that the run created. */
  run: string
  startedAt: string
  ms: number
  requests: number
  /** Time spent waiting for rate limits. */
  waitedMs: number
  passed: number
  failed: number
  skipped: number
  /** Whether `signal` ended the run before all checks ran. */
  interrupted: boolean
  /** What the run created and could not remove, one sentence for each shop. */
  remaining: string[]
  checks: CheckResult[]
}

const DOCS = 'https://github.com/referral-program/referral/blob/main/docs/'
const WHY: Record<Requirement, string> = {
  otherKey: 'requires a key of another shop (REFERRAL_OTHER_API_KEY)',
  owner: 'requires an owner token',
  receiver: 'requires a receiver',
  settings: 'changes settings of the shop (--change-settings)',
  testShop: 'requires a test shop',
}

/** An option has no meaning; no request was sent. */
export class UsageError extends Error {}

/** The sentence about the first of `only` that no check starts with. */
function unmatchedOf(only: readonly string[] = []): string | undefined {
  const wrong = only.find((start) => !allChecks.some(({ name }) => name.startsWith(start)))
  if (wrong === undefined) return undefined
  const names = [...new Set(allChecks.flatMap(({ name, group }) => [`${group}/`, name]))]
  const distances = names.map((name) => distanceOf(wrong.replace(/\/?$/, '/'), name.replace(/\/?$/, '/')))
  return `No check starts with ${wrong}. Did you mean ${names[distances.indexOf(Math.min(...distances))]}?`
}

/** Edit distance: insertions, deletions, and replacements of characters. */
function distanceOf(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, n) => n)
  for (const [n, left] of [...a].entries()) {
    const next = [n + 1]
    for (const [m, right] of [...b].entries())
      next.push(Math.min((next[m] ?? 0) + 1, (row[m + 1] ?? 0) + 1, (row[m] ?? 0) + (left === right ? 0 : 1)))
    row = next
  }
  return row[b.length] ?? 0
}

/**
 * Tests whether a server follows the contract. Everything it creates has its own name.
 *
 * @throws {UsageError} when no check starts with one of `only`
 */
export async function runConformance(options: ConformanceOptions): Promise<ConformanceReport> {
  const { suites = ['core', 'webhooks', 'owner'], only, concurrency = 4, signal, onResult } = options
  const started = Date.now()
  const run = randomBytes(3).toString('hex')
  const selected = allChecks.filter(
    ({ suite, name }) => suites.includes(suite) && (!only?.length || only.some((start) => name.startsWith(start))),
  )
  const unmatched = unmatchedOf(only)
  if (unmatched) throw new UsageError(unmatched)
  if (selected.length === 0)
    throw new UsageError(`No check of the suite ${suites.join(' or ')} starts with ${only?.join(' or ')}.`)
  const seen = new Observations(documentedOperation)
  const withReceiver = suites.includes('webhooks') && selected.some(({ needs }) => needs?.includes('receiver'))
  const { shop, close } = await openShop(options, { run, seen, withReceiver })
  const shared = new Map<string, Promise<Json>>()
  const results = new Map<Check, CheckResult>()
  const perform = async (check: Check) => {
    const context = new Context({ shop, run, seen, shared, check: check.name })
    const result = await performCheck(check, context)
    results.set(check, result)
    onResult?.(result, results.size, selected.length)
  }
  let remaining: string[] = []
  try {
    const queue = selected.filter(({ isExclusive }) => !isExclusive)
    const worker = async () => {
      for (let check = queue.shift(); check && !signal?.aborted; check = queue.shift()) await perform(check)
    }
    await Promise.all(Array.from({ length: Math.max(1, concurrency) }, worker))
    for (const check of selected.filter(({ isExclusive }) => isExclusive)) if (!signal?.aborted) await perform(check)
  } finally {
    remaining = await close()
  }
  const list = selected.flatMap((check) => results.get(check) ?? [])
  const count = (status: CheckResult['status']) => list.filter((check) => check.status === status).length
  return {
    baseUrl: options.baseUrl,
    run,
    startedAt: new Date(started).toISOString(),
    ms: Date.now() - started,
    requests: shop.client.requests,
    waitedMs: shop.client.waitedMs,
    passed: count('passed'),
    failed: count('failed'),
    skipped: count('skipped'),
    interrupted: list.length < selected.length,
    remaining,
    checks: list,
  }
}

async function performCheck(check: Check, context: Context): Promise<CheckResult> {
  const { name, rule, suite, page } = check
  const start = performance.now()
  const result = (status: CheckResult['status'], message: string | null, isSetup = false): CheckResult => ({
    name,
    rule,
    suite,
    link: DOCS + page,
    status,
    message,
    isSetup,
    ms: Math.round(performance.now() - start),
  })
  const missing = check.needs?.find((need) => !has(context.shop, need))
  if (missing) return result('skipped', WHY[missing])
  try {
    await check.run(context)
    return result('passed', null)
  } catch (error) {
    if (error instanceof NotApplicable) return result('skipped', error.message)
    return result('failed', error instanceof Error ? error.message : String(error), error instanceof SetupFailed)
  }
}

const has = (shop: Shop, requirement: Requirement): boolean =>
  ({
    otherKey: shop.otherKey !== undefined,
    owner: shop.ownerToken !== undefined,
    receiver: shop.receiver !== undefined,
    settings: shop.mayChangeSettings,
    testShop: shop.isTestShop,
  })[requirement]

const patterns = Object.entries(operations).map(([id, operation]) => ({
  id,
  ...operation,
  pattern: new RegExp(`^${operation.path.replace(/\{\w+\}/g, '[^/]+')}$`),
}))

function documentedOperation(method: string, path: string) {
  const [withoutQuery = ''] = path.split('?')
  const found = patterns.find((pattern) => pattern.method === method && pattern.pattern.test(withoutQuery))
  if (!found) return undefined
  const check = ({ status, headers, body }: Reply) => {
    const schema = found.responses[status]
    if (schema) return mismatch(schema, body)
    if (!found.files) return `the status ${status} is not documented`
    const type = headers.get('Content-Type') ?? 'missing'
    return found.files.some((one) => type.startsWith(one)) ? undefined : `Content-Type is ${type}`
  }
  return { id: found.id, check }
}

// With the keys that checks create, fewer than the 20 of a shop.
const MAX_KEYS = 12

/** Prepares the shop of a run. `close` removes what the run created, and returns what remains. */
async function openShop(
  options: ConformanceOptions,
  { run, seen, withReceiver }: { run: string; seen: Observations; withReceiver: boolean },
): Promise<{ shop: Shop; close: () => Promise<string[]> }> {
  const { baseUrl, timeoutMs = 30_000, concurrency = 4 } = options
  const [created, createdInOther] = [new Created(), new Created()]
  let { key, ownerToken, otherKey } = options
  const observe = (reply: Reply, credential: string | null) => {
    seen.note(reply)
    const shop = credential !== null && credential === otherKey ? createdInOther : created
    shop.note(reply)
  }
  const connect = (apiKey: string) =>
    new Client({ baseUrl, key: apiKey, timeoutMs, fetch: options.fetch ?? fetch, observe })
  const receiver = withReceiver ? await startReceiver(options.receiver) : undefined
  const testShops: CreatedTestShop[] = []
  let client = connect(key)

  const removeTestShops = async () => {
    const kept: string[] = []
    for (const { id } of testShops) {
      const path = `/admin/v1/test-shops/${id}`
      const reply = await client.send('DELETE', path, {}, options.ownerToken ?? null).catch(() => undefined)
      if (reply?.status !== 200) kept.push(`The test shop ${id} could not be deleted.`)
    }
    return kept
  }
  const revokeKeys = async () => {
    const { body } = await client.send('GET', '/admin/v1/keys', {}, ownerToken ?? null)
    const left = (body?.data ?? []).filter(
      ({ label, status }: Json) =>
        status === 'active' && String(label).includes(run) && /^(conformance |cf-)/.test(label),
    )
    for (const { id } of left) await client.send('DELETE', `/admin/v1/keys/${id}`, {}, ownerToken ?? null)
  }
  const close = async () => {
    await receiver?.close()
    if (testShops.length > 0) return removeTestShops()
    await created.remove(client, { concurrency, ownerToken })
    if (otherKey) await createdInOther.remove(connect(otherKey), { concurrency, ownerToken: undefined })
    if (ownerToken) await revokeKeys().catch(() => undefined)
    return [
      ...describe(created, `The shop keeps`, run),
      ...describe(createdInOther, 'The shop of REFERRAL_OTHER_API_KEY keeps', run),
    ]
  }

  try {
    if (ownerToken && options.useTestShops) await createTestShops(client, ownerToken, run, testShops)
    const [own, other] = testShops
    if (own && other) {
      ;({ apiKey: key, ownerToken } = own)
      otherKey = other.apiKey
      client = connect(key)
    }
    if (ownerToken) {
      const token = ownerToken
      let count = 0
      client.moreKeys = async () => {
        if (count >= MAX_KEYS) return undefined
        const label = `conformance ${run}`
        const { status, body } = await client.send('POST', '/admin/v1/keys', { body: { label, scopes } }, token)
        if (status !== 201) return undefined
        count++
        return body.data.secret
      }
    }
    for (const [name, credential] of [
      ['key', key],
      ['key of the other shop', otherKey],
    ]) {
      if (!credential) continue
      const { status, text, body } = await client.send('GET', '/api/v1/programs', { query: { limit: 1 } }, credential)
      if ([401, 403].includes(status))
        throw new Error(`The server rejects the ${name}: ${status} ${text.slice(0, 200)}`)
      // The first program of a shop is its default, and cannot be deleted: it would decide about affiliates of the merchant.
      if (!own && body?.data?.length === 0)
        throw new Error(
          `The shop of the ${name} has no program, and one of this run would become its default. Create a program first, or use --test-shops`,
        )
    }
    const shop: Shop = {
      client,
      key,
      ownerToken,
      otherKey,
      receiver,
      isTestShop: own !== undefined,
      webhookTimeoutMs: options.webhookTimeoutMs ?? 8000,
      mayChangeSettings: own !== undefined || options.changeSettings === true,
    }
    return { shop, close }
  } catch (error) {
    await close()
    throw error
  }
}

const describe = (created: Created, start: string, run: string): string[] => {
  const what = created.remaining()
  return what.length === 0
    ? []
    : [`${start} ${what.join(', ')} of this run (cf-${run}-), which an API key cannot delete.`]
}

interface CreatedTestShop {
  id: string
  apiKey: string
  ownerToken: string
}

/** Creates two test shops for this run, so that it changes nothing of the shop. None if the server has no test shops. */
async function createTestShops(client: Client, token: string, run: string, made: CreatedTestShop[]): Promise<void> {
  for (const name of [`conformance ${run}`, `conformance ${run}, other`]) {
    const { status, body, text } = await client.send('POST', '/admin/v1/test-shops', { body: { name } }, token)
    if (status === 404 && made.length === 0) return
    if (status !== 201) throw new Error(`A test shop could not be created: ${status} ${text.slice(0, 200)}`)
    made.push(body.data)
  }
}
