import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { isCollection, parseDocument, visit } from 'yaml'
import { allOperations, composed, deref, document, operation } from '../support/document.ts'

// biome-ignore lint/suspicious/noExplicitAny: the document is walked as plain JSON
type Json = any

const schemas: Record<string, Json> = document.components.schemas

/** Every schema that a node contains or refers to, by its path. */
function* schemasOf(node: Json, at: string, seen = new Set<Json>()): Generator<[at: string, schema: Json]> {
  if (node === null || typeof node !== 'object' || seen.has(node)) return
  seen.add(node)
  if (node.$ref) return yield* schemasOf(deref(node), node.$ref.replace('#/components/schemas/', ''), seen)
  yield [at, node]
  for (const [key, one] of Object.entries(node)) {
    if (key === 'examples' || key === 'example') continue
    yield* schemasOf(one, `${at}.${key}`.replace('.properties.', '.'), seen)
  }
}

/** The lists that the product fixes, and switches that are echoed as they were sent. */
const FIXED = new Set(
  [
    schemas.AffiliateStatus,
    schemas.CommissionStatus,
    schemas.ProgramStatus,
    schemas.PayoutBatchStatus,
    schemas.CommissionType,
    schemas.DiscountType,
    schemas.EvidenceKind,
    schemas.ModerationAction,
    { enum: ['LAST', 'FIRST'] },
    { enum: ['OPEN', 'PAID', 'FAILED'] },
    { enum: ['product', 'variant'] },
  ].map((list) => list.enum.join()),
)

test('every enum in a response is closed, or documents that it may grow', () => {
  const replies = allOperations.map(({ path, method }) => document.paths[path][method.toLowerCase()].responses)
  const lists = [...schemasOf([replies, document.webhooks], '')].filter(([, { enum: values }]) => values?.length > 1)
  expect(lists.length).toBeGreaterThan(15)
  const silent = lists.filter(([, one]) => !one['x-extensible-enum'] && !FIXED.has(one.enum.join()))
  expect(silent.map(([at]) => at)).toEqual([])
  const both = lists.filter(([, one]) => one['x-extensible-enum'] && FIXED.has(one.enum.join()))
  expect(both.map(([at]) => at)).toEqual([])
})

test('every error response has codes, and every code has a sentence', () => {
  const { enum: codes, 'x-example-messages': messages } = schemas.ErrorCode
  for (const { id, path, method, responses } of allOperations) {
    const own = Object.keys(document.paths[path][method.toLowerCase()]['x-error-codes'] ?? {})
    expect(Object.keys(responses), id).toEqual(expect.arrayContaining(own))
    const errors = Object.entries(responses).filter(([status]) => status >= '400')
    expect(errors.filter(([, { length }]) => length === 0)).toEqual([])
    const mentioned = errors.flatMap(([, some]) => some)
    expect(codes, id).toEqual(expect.arrayContaining(mentioned))
    expect(Object.keys(messages), id).toEqual(expect.arrayContaining(mentioned))
  }
})

test('every write refuses a dryRun that it does not have', () => {
  const writes = allOperations.filter(({ method }) => method !== 'GET')
  expect(writes.length).toBeGreaterThan(60)
  const silent = writes.filter(({ responses }) => !responses['400']?.includes('invalid_parameter'))
  expect(silent.map(({ id }) => id)).toEqual([])
})

/** What PyYAML and other loaders of YAML 1.1 refuse or read as another value, although this loader does not. */
function foreignTo11(text: string): unknown[] {
  const found: unknown[] = text.match(/[\t\u007f\u0085\u2028\u2029]/g) ?? []
  const document = parseDocument(text)
  visit(document, {
    Scalar(_, { type, source, value }, path) {
      const isInFlow = path.some((one) => isCollection(one) && one.flow)
      if (type === 'PLAIN' && (isInFlow ? /[?[\]{},]|^[:=]/ : /^=$/).test(String(source))) found.push(value)
    },
  })
  const in11 = JSON.stringify(parseDocument(text, { version: '1.1' }).toJS())
  return in11 === JSON.stringify(document.toJS()) ? found : [...found, 'another value']
}

test('loaders of YAML 1.1 read the document as well', () => {
  expect(foreignTo11(readFileSync(new URL('../../openapi.yaml', import.meta.url), 'utf8'))).toEqual([])
  const foreign = [
    '{ b: what? }',
    '[what?, b]',
    '{ b: ?x=1 }',
    '{ b: :x }',
    '\t1',
    '1\t# c',
    '=',
    '{ b: = }',
    'x\u2028y',
  ]
  for (const text of [...foreign, '2026-10-20', 'no', '0123', '1:30'])
    expect(foreignTo11(`a: ${text}`), text).not.toEqual([])
})

test('no field of a body has a default, which openapi-typescript takes for required', () => {
  const bodies = allOperations.map(({ path, method }) => document.paths[path][method.toLowerCase()].requestBody)
  const withDefault = [...schemasOf(bodies, '')].filter(([, one]) => 'default' in one)
  expect(withDefault.map(([at]) => at)).toEqual([])
})

test('no bound of one type is on a value of several types, because orval applies it to each', () => {
  const bounds = ['minLength', 'maxLength', 'pattern', 'minimum', 'maximum', 'minItems', 'maxItems']
  const several = [...schemasOf([document.paths, document.webhooks], '')].filter(
    ([, { type }]) => Array.isArray(type) && type.filter((one) => one !== 'null').length > 1,
  )
  expect(several.length).toBeGreaterThan(1)
  expect(several.filter(([, one]) => bounds.some((bound) => bound in one)).map(([at]) => at)).toEqual([])
})

describe('names for generators', () => {
  test('no schema has the name of a built-in', () => {
    expect(Object.keys(schemas).filter((name) => name in globalThis)).toEqual([])
  })

  test('every webhook has a unique name that suits a handler function', () => {
    const names = Object.fromEntries(
      Object.entries<Json>(document.webhooks).map(([event, { post }]) => [event, post.operationId]),
    )
    expect(names).toEqual({
      'affiliate.approved': 'onAffiliateApproved',
      'affiliate.rejected': 'onAffiliateRejected',
      'affiliate.status_changed': 'onAffiliateStatusChanged',
      'customer.bound': 'onCustomerBound',
      'commission.approved': 'onCommissionApproved',
      'commission.created': 'onCommissionCreated',
      'commission.paid': 'onCommissionPaid',
      'commission.refunded': 'onCommissionRefunded',
      'commission.rejected': 'onCommissionRejected',
      'commission.reversed': 'onCommissionReversed',
      'payout.created': 'onPayoutCreated',
      'payout.failed': 'onPayoutFailed',
      'payout.paid': 'onPayoutPaid',
      test: 'onTest',
    })
  })
})

describe('recordEvent', () => {
  const { path } = operation('recordEvent')
  const { requestBody, responses } = document.paths[path].post

  test('the three events are distinguished by a constant that is optional only for conversions', () => {
    const events = requestBody.content['application/json'].schema.anyOf.map((one: Json) => composed(one).whole)
    const types = events.map(({ properties, required = [] }: Json) => [
      properties.type.const,
      required.includes('type'),
    ])
    expect(types).toEqual([
      ['conversion', false],
      ['click', true],
      ['page_view', true],
    ])
  })

  test('no response matches two schemas', () => {
    const replies = Object.entries<Json>(responses)
      .filter(([status]) => status.startsWith('2'))
      .map(([status, one]) => {
        const { schema } = one.content['application/json']
        return [status, (schema.anyOf ?? [schema]).map(deref)] as const
      })
    expect(replies.map(([status]) => status)).toEqual(['201', '202', '2XX'])
    const [[conversion], [touch], [dryRun]] = replies.map(([, schemas]) => schemas) as [[Json], [Json], [Json]]
    expect([conversion.properties.dryRun.const, dryRun.properties.dryRun.const]).toEqual([false, true])
    expect(dryRun.required).toContain('dryRun')
    expect(touch.required.filter((name: string) => conversion.required.includes(name))).toEqual([])
  })
})
