import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { parse } from 'yaml'

/** A second, independent reading of the contract: ajv over openapi.yaml, where the server reads it with zod. */
export const document = parse(readFileSync(new URL('../../openapi.yaml', import.meta.url), 'utf8'))

export interface DocumentedOperation {
  id: string
  method: string
  path: string
  scope: string | undefined
  /** The roles that may call it with an owner token; none when it takes another credential. */
  roles: string[]
  isPublic: boolean
  /** A successful response is a stream of lines. */
  isStream: boolean
  tags: string[]
  parameters: { name: string; in: string; required?: boolean; schema: Record<string, unknown> }[]
  requestExamples: Record<string, { value: unknown }>
  /** Error codes by status; empty for 2xx. */
  responses: Record<string, string[]>
  /** The sentences of its own error codes that are the same for each request. */
  sentences: Record<string, string>
}

// biome-ignore lint/suspicious/noExplicitAny: the document is walked as plain JSON
type Json = any

/** The status of a documented response: `2XX` is 200 when other successes are documented by status. */
export const statusOf = (documented: string): number => (documented === '2XX' ? 200 : Number(documented))

const METHODS = ['get', 'post', 'put', 'patch', 'delete']

export const deref = (node: Json): Json =>
  node.$ref
    ? node.$ref
        .slice(2)
        .split('/')
        .reduce((at: Json, step: string) => at[step], document)
    : node

/** An object and its choices: `allOf` of the object and, for each choice, `anyOf` of objects. */
export function composed(schema: Json): { whole: Json; choices: Json[] } {
  const plain = deref(schema)
  const [object, ...groups] = plain.allOf ?? []
  if (!groups.length || !groups.every(({ anyOf }: Json) => anyOf)) return { whole: plain, choices: [] }
  return { whole: deref(object), choices: groups }
}

/** The whole objects that a body may be. */
export const wholesOf = (schema: Json): Json[] =>
  (deref(schema).anyOf ?? [schema]).map((one: Json) => composed(one).whole)

const messages: Record<string, string> = document.components.schemas.ErrorCode['x-example-messages']

/** Codes whose sentence names the field, the limit or the state of the request at hand. */
const NAMES_THE_CAUSE = new Set([
  'body_too_large',
  'commission_move_not_allowed',
  'commission_percent_invalid',
  'invalid_body',
  'invalid_parameter',
  'payee_invalid',
  'period_invalid',
  'total_too_large',
  'unknown_property',
  'webhook_limit_reached',
  'webhook_not_found',
])

const everything: DocumentedOperation[] = Object.entries<Json>(document.paths).flatMap(([path, item]) =>
  METHODS.filter((method) => item[method]).map((method) => {
    const op = item[method]
    const security = op.security ?? document.security
    return {
      id: op.operationId,
      method: method.toUpperCase(),
      path,
      scope: security[0]?.apiKey?.[0],
      roles: security[0]?.ownerToken ?? [],
      isPublic: security.length === 0,
      isStream: 'application/x-ndjson' in (op.responses['200']?.content ?? {}),
      tags: op.tags,
      parameters: (op.parameters ?? []).map(deref).map((one: Json) => ({ ...one, schema: deref(one.schema) })),
      requestExamples: op.requestBody?.content['application/json'].examples ?? {},
      sentences: Object.fromEntries(
        Object.values<string[]>(op['x-error-codes'] ?? {})
          .flat()
          .filter((code) => !NAMES_THE_CAUSE.has(code))
          .map((code) => [code, messages[code]!]),
      ),
      responses: Object.fromEntries(
        Object.entries<Json>(op.responses).map(([status, response]) => [
          status,
          [...(deref(response)['x-error-codes'] ?? []), ...(op['x-error-codes']?.[status] ?? [])],
        ]),
      ),
    }
  }),
)

/** The public API, which takes API keys. */
export const operations = everything.filter(({ path }) => path.startsWith('/api/v1/'))
const isOfOperator = ({ path }: DocumentedOperation) => path.startsWith('/operator/v1/')
/** The owner API and the endpoints for stores. */
export const ownerOperations = everything.filter((op) => !op.path.startsWith('/api/v1/') && !isOfOperator(op))
/** The operator API. */
export const operatorOperations = everything.filter(isOfOperator)

/** Every operation of the document. */
export const allOperations = everything

export const operation = (id: string): DocumentedOperation => {
  const found = everything.find((one) => one.id === id)
  if (!found) throw new Error(`openapi.yaml has no operation ${id}`)
  return found
}

/** The headers that an operation requires and that can have one value only, like the topic of a store notification. */
export const requiredHeaders = (op: DocumentedOperation): Record<string, string> =>
  Object.fromEntries(
    op.parameters
      .filter(({ in: place, required }) => place === 'header' && required)
      .map(({ name, schema }) => [name, (schema.enum as string[])[0]!]),
  )

const ajv = new Ajv2020({ strict: false, allErrors: true })
;(addFormats as unknown as (one: Ajv2020) => void)(ajv)
ajv.addFormat('instant', true)
ajv.addSchema(document, 'openapi')
const compiled = new Map<string, ValidateFunction>()

/** Problems of a JSON value under a part of the document, given by its JSON pointer. */
export function problems(pointer: string, value: unknown): string[] {
  let validate = compiled.get(pointer)
  if (!validate) {
    validate = ajv.compile({ $ref: `openapi#${pointer}` })
    compiled.set(pointer, validate)
  }
  return validate(value) ? [] : (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`)
}

export const pointerTo = (...steps: string[]) =>
  steps.map((step) => `/${encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('')

/** Every example of the request of each operation; one without a body for an operation that takes none. */
export const examplesOf = (ops: DocumentedOperation[]): { op: DocumentedOperation; name: string; value: unknown }[] =>
  ops.flatMap((op) => {
    const bodies = Object.entries(op.requestExamples)
    return bodies.length
      ? bodies.map(([name, { value }]) => ({ op, name, value }))
      : [{ op, name: '', value: undefined }]
  })
