import * as z from 'zod'
import { type ErrorCode, invalid } from '../errors.ts'
import { deref, document, type Schema } from './document.ts'
import { complain } from './sentence.ts'

/** Checks a value against a schema of the document and answers it with defaults filled. Throws ApiError 400. */
export type Validator = (value: unknown) => unknown

/** Which codes a refusal carries: a parameter and a body are told apart (section 7). */
export interface Refusal {
  code: ErrorCode
}

/** Rewrites component references, so that one piece of the document stands alone as JSON Schema. */
function standAlone(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(standAlone)
  if (node === null || typeof node !== 'object') return node
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => [
      key,
      key === '$ref' && typeof value === 'string'
        ? value.replace('#/components/schemas/', '#/$defs/')
        : standAlone(value),
    ]),
  )
}

const $defs = standAlone(document.components.schemas)

type JsonSchema = Parameters<typeof z.fromJSONSchema>[0]

function compile(schema: Schema): z.ZodType {
  const alone = standAlone(schema) as Record<string, unknown>
  return z.fromJSONSchema({ $schema: 'https://json-schema.org/draft/2020-12/schema', $defs, ...alone } as JsonSchema)
}

/** A validator of one schema, or of the alternative that the value's tag names (`type: click`). */
export function validator(schema: Schema, refusal: Refusal): Validator {
  const alternatives = deref(schema).anyOf?.map(deref) ?? []
  const tag = tagOf(alternatives)
  if (!tag) return validatorOfOne(deref(schema), refusal)
  const byTag = new Map(alternatives.map((one) => [one.properties?.[tag]?.const, validatorOfOne(one, refusal)]))
  const usual = alternatives.find((one) => one.properties?.[tag]?.default !== undefined)?.properties?.[tag]?.default
  return (value) => {
    const named = isRecord(value) ? (value[tag] ?? usual) : usual
    const check = byTag.get(named)
    if (!check) throw invalid(refusal.code, `${tag} must be one of ${[...byTag.keys()].join(', ')}.`)
    return check(isRecord(value) && value[tag] === null ? { ...value, [tag]: usual } : value)
  }
}

function validatorOfOne(schema: Schema, refusal: Refusal): Validator {
  // Built when it is first needed: a start should not wait for what most calls never touch.
  let zod: z.ZodType | undefined
  return (value) => {
    zod ??= compile(schema)
    const result = zod.safeParse(value)
    if (result.success) return result.data
    const { code, sentence } = complain(schema, value, result.error.issues)
    throw invalid(code ?? refusal.code, sentence)
  }
}

/** The property that tells alternatives apart: each has it as a constant. */
function tagOf(alternatives: Schema[]): string | undefined {
  return Object.keys(alternatives[0]?.properties ?? {}).find((name) =>
    alternatives.every((one) => one.properties?.[name]?.const !== undefined),
  )
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
