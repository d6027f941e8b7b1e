import { schemas } from './generated/contract.ts'

/** The part of JSON Schema that describes responses. */
export interface Schema {
  type?: string | string[]
  required?: string[]
  properties?: Record<string, Schema>
  items?: Schema
  anyOf?: Schema[]
  allOf?: Schema[]
  const?: unknown
  enum?: unknown[]
  format?: string
  $ref?: string
}

/** An operation of the contract, with the schema of each successful response. */
export interface DocumentedOperation {
  method: string
  path: string
  scope: string | null
  responses: Record<string, Schema>
  /** The content types of what is not JSON. */
  files?: string[]
}

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

const typeOf = (value: unknown) => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : typeof value
}
const hasType = (value: unknown, type: string) =>
  typeOf(value) === type || (type === 'number' && typeof value === 'number')

/** How a value differs from a schema, or undefined. Timestamps are reported separately. */
export function mismatch(schema: Schema, value: unknown, at = 'body'): string | undefined {
  if (schema.$ref) return mismatch(schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}, value, at)
  for (const part of schema.allOf ?? []) {
    const wrong = mismatch(part, value, at)
    if (wrong) return wrong
  }
  if (schema.anyOf) {
    const wrong = schema.anyOf.map((part) => mismatch(part, value, at))
    if (wrong.every((part) => part !== undefined)) return wrong.at(0)
  }
  if (schema.type && ![schema.type].flat().some((type) => hasType(value, type)))
    return `${at} must be ${[schema.type].flat().join(' or ')}, is ${typeOf(value)}`
  if ('const' in schema && value !== schema.const) return `${at} must be ${JSON.stringify(schema.const)}`
  if (schema.enum && !schema.enum.includes(value)) return `${at} has the unknown value ${JSON.stringify(value)}`
  if (Array.isArray(value)) return firstOf(value.map((part, n) => mismatch(schema.items ?? {}, part, `${at}[${n}]`)))
  if (typeof value !== 'object' || value === null) return undefined
  const missing = schema.required?.find((name) => !(name in value))
  if (missing) return `${at}.${missing} is missing`
  const known = Object.entries(schema.properties ?? {}).filter(([name]) => name in value)
  return firstOf(known.map(([name, part]) => mismatch(part, (value as Record<string, unknown>)[name], `${at}.${name}`)))
}

const firstOf = (found: (string | undefined)[]) => found.find((problem) => problem !== undefined)

/** The first field with a name of a timestamp (`…At`, `timestamp`) that is not ISO 8601 in UTC with milliseconds. */
export function wrongTimestamp(value: unknown, at = 'body'): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  return firstOf(
    Object.entries(value).map(([name, field]) =>
      typeof field === 'string' && /(At|^timestamp|^periodStart|^periodEnd)$/.test(name) && !TIMESTAMP.test(field)
        ? `${at}.${name} is ${field}`
        : wrongTimestamp(field, `${at}.${name}`),
    ),
  )
}
