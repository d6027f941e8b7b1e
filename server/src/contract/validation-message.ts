import type * as z from 'zod'
import { deref, resolveSchema, type Schema } from './document.ts'
import type { ErrorCode } from './errors.ts'

type Issue = z.core.$ZodIssue
export type Path = readonly PropertyKey[]

export interface ValidationMessage {
  code: ErrorCode | undefined
  message: string
}

/**
 * Returns one sentence about the first violation, derived from the schema: what the value must be.
 *
 * @param home The path of the value in the body.
 */
export function validationMessage(
  schema: Schema,
  value: unknown,
  issues: readonly Issue[],
  home: Path = [],
): ValidationMessage {
  const issue = deepestIssue(issues)
  if (issue.code === 'unrecognized_keys') {
    const name = printable(formatPath([...home, ...issue.path, issue.keys[0] ?? '']))
    return { code: 'unknown_property', message: `${name} is not a property of this request.` }
  }
  const name = formatPath([...home, ...issue.path])
  const given = valueAt(value, issue.path)
  if (issue.path.length > 0 && given === undefined) return { code: undefined, message: `${name} is required.` }
  const wanted = schemaAt(schema, issue.path)
  if (issue.code === 'invalid_format' && nonNull(wanted).pattern === NOT_BLANK)
    return { code: undefined, message: `${name} must not be blank.` }
  const code = nonNull(wanted)['x-error-code']
  if (code && !isOfType(given, nonNull(wanted)))
    return { code: undefined, message: `${name} must ${requirement({ type: nonNull(wanted).type })}.` }
  return { code, message: `${name} must ${requirement(wanted)}.` }
}

/** A property's own error code is for values of its type; another type gets the general code. */
const isOfType = (value: unknown, { type = [] }: Schema): boolean => [type].flat().includes(typeof value)

const NOT_BLANK = '\\S'

/** A union reports each alternative; the issue with the deepest path belongs to the one most likely meant. */
function deepestIssue(issues: readonly Issue[], base: Path = []): Issue {
  const all = issues.flatMap((issue): Issue[] => {
    const path = [...base, ...issue.path]
    const here = { ...issue, path } as Issue
    return issue.code === 'invalid_union'
      ? [here, ...issue.errors.filter((e) => e.length).map((e) => deepestIssue(e, path))]
      : [here]
  })
  return all.reduce((best, issue) => (issue.path.length > best.path.length ? issue : best))
}

/** `lineItems[3].priceCents`, or `The request body` for the empty path. */
export function formatPath(path: Path): string {
  if (path.length === 0) return 'The request body'
  return path.map((step, i) => (typeof step === 'number' ? `[${step}]` : `${i ? '.' : ''}${String(step)}`)).join('')
}

/** Property names sent by the caller are shortened and shown without control characters. */
const printable = (name: string) => name.replace(/[\p{Cc}\p{Cf}]/gu, '?').slice(0, 80)

export const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>((here, step) => (here as Record<PropertyKey, unknown> | undefined | null)?.[step], value)

function schemaAt(schema: Schema, path: Path): Schema {
  return path.reduce<Schema>((here, step) => {
    const plain = nonNull(here)
    return (typeof step === 'number' ? plain.items : plain.properties?.[String(step)]) ?? {}
  }, schema)
}

/** The schema without its null alternative. */
function nonNull(schema: Schema): Schema {
  const plain = resolveSchema(schema).object
  const other = plain.anyOf?.map(deref).find((one) => one.type !== 'null')
  return other ? nonNull(other) : plain
}

/** What a value of this schema must be, to complete `<name> must …`. */
export function requirement(schema: Schema): string {
  const plain = nonNull(schema)
  // `x-must` of a union applies to all its types.
  const must = resolveSchema(schema).object['x-must'] ?? plain['x-must']
  if (must) return must
  const types = [plain.type].flat()
  const nullable = types.includes('null') || deref(schema).anyOf?.some((one) => one.type === 'null')
  const values = plain.const === undefined ? plain.enum?.filter((one) => one !== null) : [plain.const]
  const what = values
    ? oneOf(values)
    : describe(
        types.find((type) => type !== 'null'),
        plain,
      )
  return `be ${what}${nullable ? ' or null' : ''}`
}

const oneOf = (values: unknown[]) => (values.length === 1 ? String(values[0]) : `one of ${values.join(', ')}`)

function describe(type: string | undefined, schema: Schema): string {
  const { minimum, maximum, minLength = 0, maxLength, maxItems } = schema
  switch (type) {
    case 'integer':
    case 'number': {
      const name = type === 'integer' ? 'an integer' : 'a number'
      if (minimum !== undefined && maximum !== undefined) return `${name} from ${minimum} to ${maximum}`
      return minimum === undefined ? name : `${name} of at least ${minimum}`
    }
    case 'string':
      return maxLength === undefined
        ? 'text'
        : `text of ${minLength > 0 ? `${minLength} to` : 'at most'} ${maxLength} characters`
    case undefined:
      return 'anything'
    case 'boolean':
      return 'true or false'
    case 'array':
      return maxItems === undefined
        ? 'a list'
        : `a list of ${schema.minItems ? `${schema.minItems} to` : 'at most'} ${maxItems} items`
    default:
      return 'an object'
  }
}
