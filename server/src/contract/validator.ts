import { createRequire } from 'node:module'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import type * as z from 'zod'
import { alternativesOf, deref, document, type ResolvedSchema, resolveSchema, type Schema } from './document.ts'
import { type ErrorCode, invalid, invalidField } from './errors.ts'

/**
 * Checks a value against a schema of the document.
 *
 * @returns the value with defaults filled in, of the type that is generated from the same schema.
 * @throws ApiError 400.
 */
export type Validator<T = unknown> = (value: unknown) => T

/** A validator of bodies, which can contain long lists. */
export interface BodyValidator<T = unknown> extends Validator<T> {
  /** Validates long lists in slices, between which other requests proceed. */
  inSlices: (value: unknown) => Promise<T>
  /** The properties of a valid value that only other alternatives have, and this one ignores. */
  namesOfOthers: (value: unknown) => string[]
}

/** The error code of an invalid value: parameters and bodies have different ones. */
interface ValidatorOptions {
  code: ErrorCode
}

/** A validator of one schema, or of the alternative that the value's tag names (`type: click`). */
export function validator<T>(schema: Schema, options: ValidatorOptions): BodyValidator<T> {
  const alternatives = alternativesOf(schema)
  const tag = discriminatorOf(alternatives)
  if (!tag) return schemaValidator<T>(deref(schema), options)
  const byTag = new Map(
    alternatives.map(({ schema, object: { properties = {} } }) => {
      const namesOfOthers = (value: unknown) => Object.keys(value ?? {}).filter((name) => !(name in properties))
      return [properties[tag]?.const, Object.assign(schemaValidator<T>(schema, options), { namesOfOthers })] as const
    }),
  )
  // The document marks the default alternative by a tag that is not required: some generators treat a field with `default` as required.
  const defaultTag = alternatives.find(({ object }) => !object.required?.includes(tag))?.object.properties?.[tag]?.const
  const select = (value: unknown): [BodyValidator<T>, unknown] => {
    const named = isRecord(value) ? (value[tag] ?? defaultTag) : defaultTag
    const check = byTag.get(named)
    if (!check) throw invalidField(options.code, tag, `must be one of ${[...byTag.keys()].join(', ')}.`)
    return [check, isRecord(value) && (value[tag] ?? null) === null ? { ...value, [tag]: defaultTag } : value]
  }
  const read = (input: unknown) => {
    const [check, value] = select(input)
    return check(value)
  }
  const inSlices = async (input: unknown) => {
    const [check, value] = select(input)
    return check.inSlices(value)
  }
  const namesOfOthers = (value: unknown) => select(value)[0].namesOfOthers(value)
  return Object.assign(read, { inSlices, namesOfOthers })
}

interface SchemaChecks {
  zod: z.ZodType
  lists: ListCheck[]
  /** The schema without those of its lists' items. */
  rest: z.ZodType
  choices: ChoiceCheck | undefined
}

function schemaValidator<T>(schema: Schema, { code }: ValidatorOptions): BodyValidator<T> {
  // Compiled on first use, to keep startup fast.
  let compiled: SchemaChecks | undefined
  const checks = () => {
    compiled ??= {
      zod: compile(schema),
      lists: listChecks(schema),
      rest: compile(withoutItems(schema)),
      choices: choiceCheck(schema),
    }
    return compiled
  }
  const check = (value: unknown, result: z.ZodSafeParseResult<unknown>): T => {
    const problem = result.success
      ? checks().choices?.(result.data)
      : validationMessage(schema, value, result.error.issues)
    if (problem) throw toError(problem, code)
    // The generated type and this schema both come from openapi.yaml.
    return result.data as T
  }
  const read = (input: unknown) => {
    const value = withoutRest(input, checks().lists)
    return check(value, checks().zod.safeParse(value))
  }
  const inSlices = async (input: unknown) => {
    const long = isRecord(input) ? checks().lists.filter(({ name }) => isLong(input[name])) : []
    if (long.length === 0) return read(input)
    const lists: Record<string, unknown[]> = {}
    for (const { name, zod } of long) {
      const items = await readItems((input as Record<string, unknown[]>)[name] ?? [], zod)
      // Throws the message about the first invalid item.
      if (!items) return read(input)
      lists[name] = items
    }
    const result = checks().rest.safeParse(input)
    if (!result.success) return read(input)
    return check(input, { ...result, data: { ...(result.data as object), ...lists } })
  }
  return Object.assign(read, { inSlices, namesOfOthers: () => [] })
}

/** A property that is a list, and the check of it. */
interface ListCheck {
  name: string
  zod: z.ZodType
}

/** Items validated at a time. An invalid item costs as much as a hundred valid ones, and the first is enough. */
const BLOCK_SIZE = 50

const isLong = (list: unknown): list is unknown[] => Array.isArray(list) && list.length > BLOCK_SIZE

/** Validates the items in blocks. Undefined when one is invalid. */
async function readItems(list: unknown[], zod: z.ZodType): Promise<unknown[] | undefined> {
  const items: unknown[] = []
  for (let start = 0; start < list.length; start += BLOCK_SIZE) {
    if (start > 0) await yieldToEventLoop()
    const result = zod.safeParse(list.slice(start, start + BLOCK_SIZE))
    if (!result.success) return undefined
    items.push(...(result.data as unknown[]))
  }
  return items
}

/** The schema of an object whose lists may contain any items; their number is still limited. */
function withoutItems(schema: Schema): Schema {
  const { properties } = resolveSchema(schema).object
  if (!properties) return schema
  const loose = Object.entries(properties).map(([name, property]) => {
    const { items, ...list } = deref(property)
    return [name, items ? { ...list, items: {} } : property] as const
  })
  return { ...resolveSchema(schema).object, properties: Object.fromEntries(loose) }
}

function listChecks(schema: Schema): ListCheck[] {
  return Object.entries(resolveSchema(schema).object.properties ?? {}).flatMap(([name, property]) => {
    const { items } = deref(property)
    return items ? [{ name, zod: compile({ type: 'array', items }) }] : []
  })
}

/** Cuts a long array after the first block with an invalid item. */
function withoutRest(value: unknown, lists: ListCheck[]): unknown {
  if (!isRecord(value)) return value
  const shorter = lists.flatMap(({ name, zod }) => {
    const list = value[name]
    if (!isLong(list)) return []
    const blocks = Array.from({ length: Math.ceil(list.length / BLOCK_SIZE) }, (_, i) => i * BLOCK_SIZE)
    const wrong = blocks.find((start) => !zod.safeParse(list.slice(start, start + BLOCK_SIZE)).success)
    return wrong === undefined ? [] : [[name, list.slice(0, wrong + BLOCK_SIZE)]]
  })
  return shorter.length > 0 ? { ...value, ...Object.fromEntries(shorter) } : value
}

/** The property with a different constant in each alternative. */
function discriminatorOf(alternatives: ResolvedSchema[]): string | undefined {
  return Object.keys(alternatives[0]?.object.properties ?? {}).find((name) =>
    alternatives.every(({ object }) => object.properties?.[name]?.const !== undefined),
  )
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

/**
 * Rewrites component references, so that a part of the document is a self-contained JSON Schema. Choices are dropped,
 * because zod would build an intersection, which allows unknown properties; {@link choiceCheck} validates them.
 */
function inlineReferences(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(inlineReferences)
  if (node === null || typeof node !== 'object') return node
  const { object, choices } = 'allOf' in node ? resolveSchema(node as Schema) : { object: node, choices: [] }
  return Object.fromEntries(
    Object.entries(choices.length > 0 ? object : node).map(([key, value]) => [
      key,
      key === '$ref' && typeof value === 'string'
        ? value.replace('#/components/schemas/', '#/$defs/')
        : inlineReferences(value),
    ]),
  )
}

const require = createRequire(import.meta.url)
let $defs: unknown

type JsonSchema = Parameters<typeof z.fromJSONSchema>[0]

/** Compiles a schema of the document to zod, which is loaded with the first of them. */
export function compile(schema: Schema): z.ZodType {
  const { fromJSONSchema } = require('zod') as typeof z
  $defs ??= inlineReferences(document.components.schemas)
  const alone = inlineReferences(schema) as Record<string, unknown>
  return fromJSONSchema({ $schema: 'https://json-schema.org/draft/2020-12/schema', $defs, ...alone } as JsonSchema)
}

/** Finds the first object that lacks all of several alternative fields. @param path The path of the value in the body. */
type ChoiceCheck = (value: unknown, path?: Path) => ValidationMessage | undefined

/** Alternatives, one of which must match, and the message when no field of any was sent. */
interface Choice {
  alternatives: { schema: Schema; zod: z.ZodType }[]
  message: string
}

/** Returns the check of a schema and everything in it, or undefined when nothing in it has choices. */
function choiceCheck(schema: Schema): ChoiceCheck | undefined {
  const { object, choices } = resolveSchema(schema)
  const inside = Object.entries(object.properties ?? {}).map(
    ([name, property]) => [name, choiceCheck(property)] as const,
  )
  const checks: ChoiceCheck[] = inside.flatMap(([name, check]) =>
    check ? [(value, path = []) => check((value as Record<string, unknown>)[name], [...path, name])] : [],
  )
  const item = object.items && choiceCheck(object.items)
  if (item)
    checks.push((value, path = []) =>
      firstMessage((value as unknown[]).map((member, i) => () => item(member, [...path, i]))),
    )
  for (const { anyOf = [], 'x-message': message } of choices) {
    const fields = anyOf.flatMap(({ required = [] }) => required)
    const alternatives = anyOf.map((member) => ({ schema: member, zod: compile(member) }))
    const choice = { alternatives, message: message ?? `${fields.join(' or ')} is required.` }
    checks.push((value, path = []) => choiceMessage(choice, value, path))
  }
  if (checks.length === 0) return undefined
  return (value, path) =>
    value === null || value === undefined ? undefined : firstMessage(checks.map((check) => () => check(value, path)))
}

function firstMessage(checks: (() => ValidationMessage | undefined)[]): ValidationMessage | undefined {
  for (const check of checks) {
    const problem = check()
    if (problem) return problem
  }
  return undefined
}

function choiceMessage({ alternatives, message }: Choice, value: unknown, path: Path): ValidationMessage | undefined {
  const failed: { schema: Schema; issues: readonly z.core.$ZodIssue[] }[] = []
  for (const { schema, zod } of alternatives) {
    const result = zod.safeParse(value)
    if (result.success) return undefined
    failed.push({ schema, issues: result.error.issues })
  }
  const actual = (issue: z.core.$ZodIssue | undefined) => valueAt(value, issue?.path.slice(0, 1) ?? [])
  // The alternative whose field was sent is the intended one; of two, the one with fewer issues.
  const meant = failed
    .filter(({ issues }) => !isBlank(actual(issues[0])))
    .reduce<(typeof failed)[number] | undefined>(
      (best, alternative) => (best && best.issues.length <= alternative.issues.length ? best : alternative),
      undefined,
    )
  if (!meant) return { code: undefined, message }
  const [issue] = meant.issues
  const others = failed.flatMap((alternative) => (alternative === meant ? [] : (alternative.schema.required ?? [])))
  if (issue && isBlank(valueAt(value, issue.path)) && others.length > 0) {
    const name = formatPath([...path, ...issue.path])
    return { code: undefined, field: name, rule: `is required when ${others.join(' or ')} is not sent.` }
  }
  return validationMessage(meant.schema, value, meant.issues, path)
}

/** Null, blank text and empty arrays count as not sent. */
const isBlank = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  (typeof value === 'string' && value.trim() === '') ||
  (Array.isArray(value) && value.length === 0)

type Issue = z.core.$ZodIssue
export type Path = readonly PropertyKey[]

/** The problem with a field, or the message for a body that lacks all of several fields. */
type ValidationMessage = { code: ErrorCode | undefined } & ({ field: string; rule: string } | { message: string })

const toError = (problem: ValidationMessage, code: ErrorCode) =>
  'message' in problem
    ? invalid(problem.code ?? code, problem.message)
    : invalidField(problem.code ?? code, problem.field, problem.rule)

/**
 * Returns one sentence about the first violation, derived from the schema: what the value must be.
 *
 * @param home The path of the value in the body.
 */
function validationMessage(
  schema: Schema,
  value: unknown,
  issues: readonly Issue[],
  home: Path = [],
): ValidationMessage {
  const issue = deepestIssue(issues)
  if (issue.code === 'unrecognized_keys') {
    const field = printable(formatPath([...home, ...issue.path, issue.keys[0] ?? '']))
    return { code: 'unknown_property', field, rule: 'is not a property of this request.' }
  }
  const field = formatPath([...home, ...issue.path])
  const actual = valueAt(value, issue.path)
  if (issue.path.length > 0 && actual === undefined) return { code: undefined, field, rule: 'is required.' }
  const expected =
    issue.code === 'invalid_key'
      ? deref(nonNull(schemaAt(schema, issue.path.slice(0, -1))).propertyNames ?? {})
      : schemaAt(schema, issue.path)
  if (issue.code === 'invalid_format' && nonNull(expected).pattern === NOT_BLANK)
    return { code: undefined, field, rule: 'must not be blank.' }
  const code = nonNull(expected)['x-error-code']
  if (code && !isOfType(actual, nonNull(expected)))
    return { code: undefined, field, rule: `must ${requirement({ type: nonNull(expected).type })}.` }
  return { code, field, rule: `must ${requirement(expected)}.` }
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
function formatPath(path: Path): string {
  if (path.length === 0) return 'The request body'
  return path.map((step, i) => (typeof step === 'number' ? `[${step}]` : `${i ? '.' : ''}${String(step)}`)).join('')
}

/** Property names sent by the caller are shortened and shown without control characters. */
const printable = (name: string) => name.replace(/[\p{Cc}\p{Cf}]/gu, '?').slice(0, 80)

export const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>((here, step) => (here as Record<PropertyKey, unknown> | undefined | null)?.[step], value)

const schemaAt = (schema: Schema, path: Path): Schema =>
  path.reduce<Schema>((here, step) => childOf(here, step) ?? {}, schema)

/** The schema of an item or a property, of the first alternative that has one. */
function childOf(schema: Schema, step: PropertyKey): Schema | undefined {
  const { items, properties, additionalProperties: others, anyOf } = resolveSchema(schema).object
  const property = properties?.[String(step)] ?? (typeof others === 'object' ? others : undefined)
  return (
    (typeof step === 'number' ? items : property) ??
    anyOf?.map((member) => childOf(member, step)).find((member) => member)
  )
}

/** The schema without its null alternative. */
export function nonNull(schema: Schema): Schema {
  const plain = resolveSchema(schema).object
  const other = plain.anyOf?.map(deref).find((member) => member.type !== 'null')
  return other ? nonNull(other) : plain
}

/** What a value of this schema must be, to complete `<name> must …`. */
function requirement(schema: Schema): string {
  const plain = nonNull(schema)
  // `x-must` of a union applies to all its types.
  const must = resolveSchema(schema).object['x-must'] ?? plain['x-must']
  if (must) return must
  const types = [plain.type].flat()
  const nullable = types.includes('null') || deref(schema).anyOf?.some((member) => member.type === 'null')
  const values = plain.const === undefined ? plain.enum?.filter((member) => member !== null) : [plain.const]
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
