import * as z from 'zod'
import { alternativesOf, deref, document, type ResolvedSchema, resolveSchema, type Schema } from './document.ts'
import { type ErrorCode, invalid } from './errors.ts'
import { formatPath, type Path, type ValidationMessage, validationMessage, valueAt } from './validation-message.ts'

/**
 * Checks a value against a schema of the document.
 *
 * @returns the value with defaults filled in, of the type that is generated from the same schema.
 * @throws ApiError 400.
 */
export type Validator<T = unknown> = (value: unknown) => T

/** Which codes a refusal carries: a parameter and a body are told apart (section 7). */
export interface ValidatorOptions {
  code: ErrorCode
}

/** A validator of one schema, or of the alternative that the value's tag names (`type: click`). */
export function validator<T>(schema: Schema, refusal: ValidatorOptions): Validator<T> {
  const alternatives = alternativesOf(schema)
  const tag = discriminatorOf(alternatives)
  if (!tag) return schemaValidator<T>(deref(schema), refusal)
  const byTag = new Map(
    alternatives.map((one) => [one.object.properties?.[tag]?.const, schemaValidator<T>(one.schema, refusal)]),
  )
  // Said by `required` instead of `default`: some generators take a field with a default for a required one.
  const usual = alternatives.find(({ object }) => !object.required?.includes(tag))?.object.properties?.[tag]?.const
  return (value) => {
    const named = isRecord(value) ? (value[tag] ?? usual) : usual
    const check = byTag.get(named)
    if (!check) throw invalid(refusal.code, `${tag} must be one of ${[...byTag.keys()].join(', ')}.`)
    return check(isRecord(value) && (value[tag] ?? null) === null ? { ...value, [tag]: usual } : value)
  }
}

function schemaValidator<T>(schema: Schema, refusal: ValidatorOptions): Validator<T> {
  // Built when it is first needed: a start should not wait for what most calls never touch.
  let checks: { zod: z.ZodType; lists: ListCheck[]; choices: ChoiceCheck | undefined } | undefined
  return (sent) => {
    checks ??= { zod: compile(schema), lists: listChecks(schema), choices: choiceCheck(schema) }
    const value = withoutRest(sent, checks.lists)
    const result = checks.zod.safeParse(value)
    const complaint = result.success
      ? checks.choices?.(result.data)
      : validationMessage(schema, value, result.error.issues)
    if (complaint) throw invalid(complaint.code ?? refusal.code, complaint.message)
    // The generated type and this schema both come from openapi.yaml.
    return result.data as T
  }
}

/** A property that is a list, and the check of it. */
interface ListCheck {
  name: string
  zod: z.ZodType
}

/** Items that are checked at once. One that is wrong takes as long as a hundred that are right, and one is enough. */
const BLOCK = 50

function listChecks(schema: Schema): ListCheck[] {
  return Object.entries(resolveSchema(schema).object.properties ?? {}).flatMap(([name, property]) => {
    const { items } = deref(property)
    return items ? [{ name, zod: compile({ type: 'array', items }) }] : []
  })
}

/** A long list ends after the first block of it in which something is wrong. */
function withoutRest(value: unknown, lists: ListCheck[]): unknown {
  if (!isRecord(value)) return value
  const shorter = lists.flatMap(({ name, zod }) => {
    const list = value[name]
    if (!Array.isArray(list) || list.length <= BLOCK) return []
    const blocks = Array.from({ length: Math.ceil(list.length / BLOCK) }, (_, i) => i * BLOCK)
    const wrong = blocks.find((start) => !zod.safeParse(list.slice(start, start + BLOCK)).success)
    return wrong === undefined ? [] : [[name, list.slice(0, wrong + BLOCK)]]
  })
  return shorter.length > 0 ? { ...value, ...Object.fromEntries(shorter) } : value
}

/** The property that tells alternatives apart: each has it as a constant. */
function discriminatorOf(alternatives: ResolvedSchema[]): string | undefined {
  return Object.keys(alternatives[0]?.object.properties ?? {}).find((name) =>
    alternatives.every(({ object }) => object.properties?.[name]?.const !== undefined),
  )
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

/**
 * Rewrites component references, so that one piece of the document stands alone as JSON Schema. Of an object with
 * choices only the object stays: zod would make an intersection, which tolerates unknown properties. choices.ts sees to
 * the rest.
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

const $defs = inlineReferences(document.components.schemas)

type JsonSchema = Parameters<typeof z.fromJSONSchema>[0]

/** A schema of the document as zod reads it. */
export function compile(schema: Schema): z.ZodType {
  const alone = inlineReferences(schema) as Record<string, unknown>
  return z.fromJSONSchema({ $schema: 'https://json-schema.org/draft/2020-12/schema', $defs, ...alone } as JsonSchema)
}

/** Finds the first object of a value that has none of the fields it needs one of. `path`: where the value stands. */
export type ChoiceCheck = (value: unknown, path?: Path) => ValidationMessage | undefined

/** Objects of which one must fit, and the sentence when no field of them was given. */
interface Choice {
  alternatives: { schema: Schema; zod: z.ZodType }[]
  message: string
}

/** The check of a schema and of everything in it; undefined when nothing in it has choices. */
export function choiceCheck(schema: Schema): ChoiceCheck | undefined {
  const { object, choices } = resolveSchema(schema)
  const inside = Object.entries(object.properties ?? {}).map(
    ([name, property]) => [name, choiceCheck(property)] as const,
  )
  const checks: ChoiceCheck[] = inside.flatMap(([name, check]) =>
    check ? [(value, path = []) => check((value as Record<string, unknown>)[name], [...path, name])] : [],
  )
  const item = object.items && choiceCheck(object.items)
  if (item)
    checks.push((value, path = []) => firstMessage((value as unknown[]).map((one, i) => () => item(one, [...path, i]))))
  for (const { anyOf = [], 'x-message': said } of choices) {
    const fields = anyOf.flatMap(({ required = [] }) => required)
    const alternatives = anyOf.map((one) => ({ schema: one, zod: compile(one) }))
    const choice = { alternatives, message: said ?? `${fields.join(' or ')} is required.` }
    checks.push((value, path = []) => choiceMessage(choice, value, path))
  }
  if (checks.length === 0) return undefined
  return (value, path) =>
    value === null || value === undefined ? undefined : firstMessage(checks.map((check) => () => check(value, path)))
}

function firstMessage(checks: (() => ValidationMessage | undefined)[]): ValidationMessage | undefined {
  for (const check of checks) {
    const complaint = check()
    if (complaint) return complaint
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
  const given = (issue: z.core.$ZodIssue | undefined) => valueAt(value, issue?.path.slice(0, 1) ?? [])
  // Whoever gave the field of an alternative meant that one; of two, the one that less is wrong with.
  const meant = failed
    .filter(({ issues }) => !isBlank(given(issues[0])))
    .reduce<(typeof failed)[number] | undefined>(
      (best, one) => (best && best.issues.length <= one.issues.length ? best : one),
      undefined,
    )
  if (!meant) return { code: undefined, message }
  const [issue] = meant.issues
  const others = failed.flatMap((one) => (one === meant ? [] : (one.schema.required ?? [])))
  if (issue && isBlank(valueAt(value, issue.path)) && others.length > 0) {
    const name = formatPath([...path, ...issue.path])
    return { code: undefined, message: `${name} is required when ${others.join(' or ')} is not sent.` }
  }
  return validationMessage(meant.schema, value, meant.issues, path)
}

/** What stands for nothing: an alternative is meant when its field was given. */
const isBlank = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  (typeof value === 'string' && value.trim() === '') ||
  (Array.isArray(value) && value.length === 0)
