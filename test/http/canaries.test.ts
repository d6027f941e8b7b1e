import { createHmac } from 'node:crypto'
import { describe, expect } from 'vitest'
import { createApp } from '../../server/src/app.ts'
import { createMetrics } from '../../server/src/core/metrics.ts'
import { callOperation } from '../contract/fixture.ts'
import {
  type DocumentedOperation,
  deref,
  document,
  operations,
  operatorOperations,
  ownerOperations,
  requiredHeaders,
  wholesOf,
} from '../support/document.ts'
import { failStatement } from '../support/faults.ts'
import { rowsOf } from '../support/inspect.ts'
import { callOperator } from '../support/operator.ts'
import { admin, callOwner, FRESH, type OwnerServer, sessionFor } from '../support/owner.ts'
import type { Reply, RequestOptions } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { callSite, isOfSite } from '../support/site.ts'
import { test } from '../support/test.ts'

/** Everywhere that a value might remain: logs, error responses, metrics and audit records. */
const STORE_SECRET = 'cnrySecretOfTheStore'
const WEBHOOK_SECRET = 'cnryWebhookSecret'
const window = async () => ({ limit: 100, remaining: 100, reset: 60, exceeded: false })
const metrics = createMetrics()
const rejections: string[] = []
const statuses = new Set<number>()

let through: OwnerServer
test.beforeAll(async ({ ownerServer: server }) => {
  Object.assign(server.deps, { resolve: async () => ['8.8.8.8'] })
  await expectOk(
    admin(server, 'PATCH', '/settings', { storeWebhookSecret: STORE_SECRET, siteDomains: ['shop.example'] }),
  )
  const app = createApp(server.deps, { metrics, limiter: { consume: window, peek: window } })
  through = { ...server, request: (...call) => send(server, app, ...call) }
})

async function send(
  server: OwnerServer,
  app: ReturnType<typeof createApp>,
  method: string,
  path: string,
  { body, raw, headers = {}, key = server.shop.key }: RequestOptions = {},
): Promise<Reply> {
  const response = await app.fetch(
    // No operation declares this parameter, so no response may mention it.
    new Request(`http://test${path}${path.includes('?') ? '&' : '?'}cnry=cnryQuery`, {
      method,
      headers: { ...(key === null ? {} : { Authorization: `Bearer ${key}` }), ...headers },
      body: (raw ?? (body === undefined ? undefined : JSON.stringify(body))) as BodyInit,
    }),
  )
  const text = await response.text()
  const isJson = response.headers.get('Content-Type')?.startsWith('application/json')
  statuses.add(response.status)
  if (response.status >= 400) rejections.push(`${text} ${JSON.stringify([...response.headers])}`)
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
}

let planted = 0
interface TextSchema {
  type?: unknown
  enum?: unknown
  pattern?: string
  format?: string
  anyOf?: TextSchema[]
}

const isFreeText = (schema: TextSchema): boolean =>
  schema.anyOf?.some(isFreeText) ||
  ([schema.type].flat().includes('string') && !schema.enum && !schema.format && (schema.pattern ?? '\\S') === '\\S')
/** Values that reference something that exists or are short; the label of a key identifies the key, even in the audit. */
const NAMES =
  /id$|ids$|^(label|code|kind|action|value|ref|type|secret|token|url|hookUrl|target_url|storeDomain)$|Code$/i

// biome-ignore lint/suspicious/noExplicitAny: a body of any shape
function plant(body: any, schema: any): any {
  const [shape] = wholesOf(schema)
  const values = Object.entries(shape.properties ?? {}).flatMap(([name, one]) => {
    const free = isFreeText(deref(one as never)) && !NAMES.test(name)
    return free ? [[name, `cnry${planted++}x`]] : []
  })
  return { ...body, ...Object.fromEntries(values), ...(body?.secret && { secret: WEBHOOK_SECRET }) }
}

const call = (
  server: OwnerServer,
  op: DocumentedOperation,
  given: RequestOptions & { id?: string } = {},
): Promise<Reply> => {
  if (op.path.startsWith('/admin/')) return callOwner(through, op, { ...sessionFor(server, op), ...given })
  if (op.path.startsWith('/api/')) return callOperation(through, op, given)
  if (op.path.startsWith('/operator/')) return callOperator(through, op, given)
  if (isOfSite(op)) return callSite(through, op, given)
  const text = (given.raw as string) ?? JSON.stringify(given.body ?? {})
  const signature = createHmac('sha256', STORE_SECRET).update(text).digest('base64')
  const headers = { 'X-Shopify-Hmac-Sha256': signature, ...requiredHeaders(op) }
  return through.request('POST', op.path.replace('{shopId}', server.shop.shopId), { key: null, raw: text, headers })
}

const ops = [...operations.filter(({ isPublic }) => !isPublic), ...ownerOperations, ...operatorOperations].filter(
  ({ id }) => id !== 'deleteSession',
)
// Other operations need what this one removes.
ops.push(
  ...ops.splice(
    ops.findIndex(({ id }) => id === 'archiveAffiliate'),
    1,
  ),
)

describe('secrets, tokens and body contents stay out of logs, errors, metrics and the audit', () => {
  test.for(ops.map((op) => [op.id, op] as const))('%s', async ([_id, op], { ownerServer: server }) => {
    const schema = document.paths[op.path][op.method.toLowerCase()].requestBody?.content['application/json'].schema
    const example = Object.values(op.requestExamples)[0]?.value as object | undefined
    const body = schema && op.id !== 'createSession' ? plant(example, schema) : undefined
    const id = await FRESH[op.id]?.(server)
    const given = { ...(body && { body }), ...(id && { id }) }
    const restore = failStatement(server, 1)
    await call(server, op, given)
    restore()
    await call(server, op, given)
    if (schema) await call(server, op, { raw: `{"cnryBroken": "cnry${planted++}x` })
    if (schema)
      await call(server, op, { body: { ...body, [Object.keys(body ?? { x: 1 })[0]!]: { cnry: `cnry${planted++}x` } } })
    await call(server, op, { key: `rk_cnry${'x'.repeat(45)}`, headers: { Cookie: 'referral_session=cnryCookie' } })
    if (op.path.startsWith('/integrations/')) {
      const headers = { ...requiredHeaders(op), 'X-Shopify-Hmac-Sha256': createHmac('sha256', 'cnry').digest('base64') }
      const path = op.path.replace('{shopId}', server.shop.shopId)
      await through.request('POST', path, { key: null, raw: JSON.stringify(body ?? {}), headers })
    }
  })

  test('none of them is stored anywhere', async ({ ownerServer: server }) => {
    expect(planted).toBeGreaterThan(80)
    expect([...statuses].sort()).toEqual(expect.arrayContaining([200, 201, 400, 401, 403, 503]))
    const audits = rowsOf(server, 'audits').map((row) => JSON.stringify(row))
    const places = { logs: server.logs, rejections, audits, metrics: [(await metrics.text()).text] }
    const secrets = [server.shop.key, server.shop.ownerToken, server.staff, Buffer.alloc(32, 7).toString('base64')]
    const found = Object.entries(places).flatMap(([place, lines]) =>
      lines
        .filter((line) => /cnry/.test(line) || secrets.some((secret) => line.includes(secret.slice(12))))
        .map((line) => `${place}: ${line.slice(0, 400)}`),
    )
    expect(found).toEqual([])
    expect(server.logs.length).toBeGreaterThan(100)
  })
})
