import fc from 'fast-check'
import { type DocumentedOperation, deref, document } from '../support/document.ts'
import { fromSchema, type Known } from './from-schema.ts'
import { brokenBytes, harm, hostileText } from './hostile.ts'

/** One request, as it goes out. */
export interface Call {
  path: string
  query: [string, string][]
  headers: Record<string, string>
  /** Whose credential is sent. */
  credential: 'own' | 'foreign' | 'none' | 'odd'
  body: string | Uint8Array<ArrayBuffer> | undefined
}

// What HTTP lets a header hold.
const headerText = hostileText.map((text) => text.replace(/[^\t -~\x80-\xff]/g, '?').trim())
const queryText = hostileText.map((text) => text.toWellFormed())

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 })

/** Requests of one operation, generated from the document. */
export function callsOf(op: DocumentedOperation, known: Known): fc.Arbitrary<Call> {
  return fc.record({
    path: pathOf(op, known),
    query: queryOf(op, known),
    headers: headersOf(op),
    credential: fc.oneof(
      { weight: 12, arbitrary: fc.constant('own' as const) },
      { weight: 1, arbitrary: fc.constantFrom('foreign', 'none', 'odd' as const) },
    ),
    body: bodyOf(op, known),
  })
}

function pathOf(op: DocumentedOperation, known: Known): fc.Arbitrary<string> {
  const names = op.parameters.filter(({ in: place }) => place === 'path').map(({ name }) => name)
  if (names.length === 0) return fc.constant(op.path)
  const part = fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...known.ids) }, { weight: 1, arbitrary: queryText })
  return fc
    .tuple(...names.map(() => part))
    .map((parts) =>
      names.reduce((path, name, i) => path.replace(`{${name}}`, encodeURIComponent(parts[i] || 'x')), op.path),
    )
}

function queryOf(op: DocumentedOperation, known: Known): fc.Arbitrary<[string, string][]> {
  const named = op.parameters.filter(({ in: place }) => place === 'query')
  const values = named.map(({ name, schema, required }) => {
    const value = fromSchema(schema, known, name).map((one) =>
      typeof one === 'object' ? '{}' : String(one).toWellFormed(),
    )
    return (required ? value : maybe(value)).map((one) => (one === undefined ? [] : [[name, one] as [string, string]]))
  })
  const extra = fc.oneof(
    { weight: 9, arbitrary: fc.constant([]) },
    {
      weight: 1,
      arbitrary: fc.tuple(fc.constantFrom('page', 'limit', 'id', 'shopId', '__proto__'), queryText).map((one) => [one]),
    },
  )
  return fc.tuple(...values, extra).map((parts) => parts.flat() as [string, string][])
}

function headersOf(op: DocumentedOperation): fc.Arbitrary<Record<string, string>> {
  const key = fc.oneof(fc.uuid(), fc.constantFrom('again', 'x'.repeat(255), 'x'.repeat(256)), headerText)
  return fc
    .record(
      {
        'Idempotency-Key': op.parameters.some(({ name }) => name === 'Idempotency-Key') ? key : headerText,
        'X-Request-Id': headerText,
        'Content-Type': fc.constantFrom('application/json', 'text/plain', 'multipart/form-data; boundary=x', ';;;'),
        Cookie: headerText.map((text) => `referral_session=${text}`),
        'X-CSRF-Token': headerText,
        'X-Forwarded-For': headerText,
        Origin: headerText,
      },
      { requiredKeys: op.id === 'recordEvent' ? ['Idempotency-Key'] : [] },
    )
    .map((headers) => Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined)))
}

function bodyOf(op: DocumentedOperation, known: Known): fc.Arbitrary<Call['body']> {
  const content = document.paths[op.path][op.method.toLowerCase()].requestBody?.content['application/json']
  if (!content) return op.method === 'GET' ? fc.constant(undefined) : maybe(hostileText)
  const examples = Object.values<{ value?: unknown; $ref?: string }>(content.examples ?? {}).map(
    (one) => deref(one).value,
  )
  const value = fc.oneof(
    { weight: 4, arbitrary: fromSchema(content.schema, known) },
    ...(examples.length > 0 ? [{ weight: 1, arbitrary: fc.constantFrom(...examples) }] : []),
  )
  const text = value.map((one) => JSON.stringify(one) ?? '')
  return fc.oneof(
    { weight: 8, arbitrary: text },
    { weight: 2, arbitrary: fc.tuple(text, harm).map(([one, change]) => change(one)) },
    { weight: 1, arbitrary: fc.oneof(hostileText, brokenBytes, fc.constant(undefined)) },
  )
}
