import { randomBytes } from 'node:crypto'
import { type Check, NotApplicable, type Requirement, SetupFailed, type Suite } from './check.ts'
import { checks as allChecks } from './checks/all.ts'
import { Client, type Fetch, type Reply } from './client.ts'
import { Context, type Json, Observations, type Shop } from './context.ts'
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
  checks: CheckResult[]
}

const DOCS = 'https://github.com/referral-program/referral/blob/main/docs/'
const WHY: Record<Requirement, string> = {
  otherKey: 'requires a key of another shop (--other-key)',
  owner: 'requires an owner token',
  receiver: 'requires a receiver',
  settings: 'changes settings of the shop (--change-settings)',
  testShop: 'requires a test shop',
}

/** Tests whether a server follows the contract. Everything it creates has a name of its own. */
export async function runConformance(options: ConformanceOptions): Promise<ConformanceReport> {
  const { suites = ['core', 'webhooks', 'owner'], only, concurrency = 4, onResult } = options
  const started = Date.now()
  const run = randomBytes(3).toString('hex')
  const selected = allChecks.filter(
    ({ suite, name }) => suites.includes(suite) && (!only?.length || only.some((start) => name.startsWith(start))),
  )
  const seen = new Observations(documentedOperation)
  const { shop, close } = await openShop(options, { run, seen, withReceiver: suites.includes('webhooks') })
  const shared = new Map<string, Promise<Json>>()
  const results = new Map<Check, CheckResult>()
  const perform = async (check: Check) => {
    const context = new Context({ shop, run, seen, shared, check: check.name })
    const result = await performCheck(check, context)
    results.set(check, result)
    onResult?.(result, results.size, selected.length)
  }
  try {
    const queue = selected.filter(({ isExclusive }) => !isExclusive)
    const worker = async () => {
      for (let check = queue.shift(); check; check = queue.shift()) await perform(check)
    }
    await Promise.all(Array.from({ length: Math.max(1, concurrency) }, worker))
    for (const check of selected.filter(({ isExclusive }) => isExclusive)) await perform(check)
  } finally {
    await close()
  }
  const list = selected.flatMap((check) => results.get(check) ?? [])
  const count = (status: CheckResult['status']) => list.filter((one) => one.status === status).length
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
  const missing = check.needs?.find((one) => !has(context.shop, one))
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
  const found = patterns.find((one) => one.method === method && one.pattern.test(withoutQuery))
  if (!found) return undefined
  const check = ({ status, body }: Reply) => {
    const schema = found.responses[status]
    if (schema) return mismatch(schema, body)
    return Object.keys(found.responses).length ? `the status ${status} is not documented` : undefined
  }
  return { id: found.id, check }
}

// With the keys that checks create, fewer than the 20 of a shop.
const MAX_KEYS = 12

/** Prepares the shop of a run. `close` removes what the preparation created. */
async function openShop(
  options: ConformanceOptions,
  { run, seen, withReceiver }: { run: string; seen: Observations; withReceiver: boolean },
): Promise<{ shop: Shop; close: () => Promise<void> }> {
  const { baseUrl, timeoutMs = 30_000 } = options
  const connect = (apiKey: string) =>
    new Client({ baseUrl, key: apiKey, timeoutMs, fetch: options.fetch ?? fetch, observe: seen.note })
  const testShops =
    options.ownerToken && options.useTestShops ? await createTestShops(connect(options.key), options, run) : []
  const [own, other] = testShops
  const key = own?.apiKey ?? options.key
  const ownerToken = own?.ownerToken ?? options.ownerToken
  const otherKey = other?.apiKey ?? options.otherKey
  const client = connect(key)
  let created = 0
  if (ownerToken) {
    const owner = (method: string, path: string, body?: unknown) =>
      client.send(method, `/admin/v1${path}`, { body }, ownerToken)
    client.moreKeys = async () => {
      if (created >= MAX_KEYS) return undefined
      const { status, body } = await owner('POST', '/keys', { label: `conformance ${run}`, scopes })
      if (status !== 201) return undefined
      created++
      return body.data.secret
    }
  }
  const first = await client.send('GET', '/api/v1/programs', { query: { limit: 1 } }, key)
  if ([401, 403].includes(first.status))
    throw new Error(`The server rejects the key: ${first.status} ${first.text.slice(0, 200)}`)
  const receiver = withReceiver ? await startReceiver(options.receiver) : undefined
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
  const close = async () => {
    await receiver?.close()
    for (const { id } of testShops)
      await client.send('DELETE', `/admin/v1/test-shops/${id}`, {}, options.ownerToken ?? null)
    if (!ownerToken || own) return
    const { body } = await client.send('GET', '/admin/v1/keys', {}, ownerToken)
    const left = (body?.data ?? []).filter(
      ({ label, status }: Json) =>
        status === 'active' && String(label).includes(run) && /^(conformance |cf-)/.test(label),
    )
    for (const { id } of left) await client.send('DELETE', `/admin/v1/keys/${id}`, {}, ownerToken)
  }
  return { shop, close }
}

interface CreatedTestShop {
  id: string
  apiKey: string
  ownerToken: string
}

/** Two test shops for this run, so that it changes nothing of the shop. None if the server has no test shops. */
async function createTestShops(
  client: Client,
  { ownerToken = '' }: ConformanceOptions,
  run: string,
): Promise<CreatedTestShop[]> {
  const made: CreatedTestShop[] = []
  for (const name of [`conformance ${run}`, `conformance ${run}, other`]) {
    const { status, body, text } = await client.send('POST', '/admin/v1/test-shops', { body: { name } }, ownerToken)
    if (status === 404 && made.length === 0) return []
    if (status !== 201) throw new Error(`A test shop could not be created: ${status} ${text.slice(0, 200)}`)
    made.push(body.data)
  }
  return made
}
