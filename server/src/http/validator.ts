import type * as z from 'zod'
import { type ErrorCode, invalid } from '../errors.ts'
import { type ChoiceCheck, choiceCheck } from './choices.ts'
import { compile } from './compile.ts'
import { alternativesOf, type Composed, deref, type Schema } from './document.ts'
import { complain } from './sentence.ts'

/** Checks a value against a schema of the document and answers it with defaults filled. Throws ApiError 400. */
export type Validator = (value: unknown) => unknown

/** Which codes a refusal carries: a parameter and a body are told apart (section 7). */
export interface Refusal {
  code: ErrorCode
}

/** A validator of one schema, or of the alternative that the value's tag names (`type: click`). */
export function validator(schema: Schema, refusal: Refusal): Validator {
  const alternatives = alternativesOf(schema)
  const tag = tagOf(alternatives)
  if (!tag) return validatorOfOne(deref(schema), refusal)
  const byTag = new Map(
    alternatives.map((one) => [one.whole.properties?.[tag]?.const, validatorOfOne(one.schema, refusal)]),
  )
  // Said by `required` instead of `default`: some generators take a field with a default for a required one.
  const usual = alternatives.find(({ whole }) => !whole.required?.includes(tag))?.whole.properties?.[tag]?.const
  return (value) => {
    const named = isRecord(value) ? (value[tag] ?? usual) : usual
    const check = byTag.get(named)
    if (!check) throw invalid(refusal.code, `${tag} must be one of ${[...byTag.keys()].join(', ')}.`)
    return check(isRecord(value) && (value[tag] ?? null) === null ? { ...value, [tag]: usual } : value)
  }
}

function validatorOfOne(schema: Schema, refusal: Refusal): Validator {
  // Built when it is first needed: a start should not wait for what most calls never touch.
  let checks: { zod: z.ZodType; choices: ChoiceCheck | undefined } | undefined
  return (value) => {
    checks ??= { zod: compile(schema), choices: choiceCheck(schema) }
    const result = checks.zod.safeParse(value)
    const complaint = result.success ? checks.choices?.(result.data) : complain(schema, value, result.error.issues)
    if (complaint) throw invalid(complaint.code ?? refusal.code, complaint.sentence)
    return result.data
  }
}

/** The property that tells alternatives apart: each has it as a constant. */
function tagOf(alternatives: Composed[]): string | undefined {
  return Object.keys(alternatives[0]?.whole.properties ?? {}).find((name) =>
    alternatives.every(({ whole }) => whole.properties?.[name]?.const !== undefined),
  )
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
