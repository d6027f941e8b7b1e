import type * as z from 'zod'
import { compile } from './compile.ts'
import { composed, type Schema } from './document.ts'
import { at, type Complaint, complain, nameOf, type Path } from './sentence.ts'

/** Finds the first object of a value that has none of the fields it needs one of. `path`: where the value stands. */
export type ChoiceCheck = (value: unknown, path?: Path) => Complaint | undefined

/** Objects of which one must fit, and the sentence when no field of them was given. */
interface Choice {
  alternatives: { schema: Schema; zod: z.ZodType }[]
  message: string
}

/** The check of a schema and of everything in it; undefined when nothing in it has choices. */
export function choiceCheck(schema: Schema): ChoiceCheck | undefined {
  const { whole, choices } = composed(schema)
  const inside = Object.entries(whole.properties ?? {}).map(
    ([name, property]) => [name, choiceCheck(property)] as const,
  )
  const checks: ChoiceCheck[] = inside.flatMap(([name, check]) =>
    check ? [(value, path = []) => check((value as Record<string, unknown>)[name], [...path, name])] : [],
  )
  const item = whole.items && choiceCheck(whole.items)
  if (item)
    checks.push((value, path = []) => first((value as unknown[]).map((one, i) => () => item(one, [...path, i]))))
  for (const { anyOf = [], 'x-message': said } of choices) {
    const fields = anyOf.flatMap(({ required = [] }) => required)
    const alternatives = anyOf.map((one) => ({ schema: one, zod: compile(one) }))
    const choice = { alternatives, message: said ?? `${fields.join(' or ')} is required.` }
    checks.push((value, path = []) => complaintOf(choice, value, path))
  }
  if (checks.length === 0) return undefined
  return (value, path) =>
    value === null || value === undefined ? undefined : first(checks.map((check) => () => check(value, path)))
}

function first(checks: (() => Complaint | undefined)[]): Complaint | undefined {
  for (const check of checks) {
    const complaint = check()
    if (complaint) return complaint
  }
  return undefined
}

function complaintOf({ alternatives, message }: Choice, value: unknown, path: Path): Complaint | undefined {
  const failed: { schema: Schema; issues: readonly z.core.$ZodIssue[] }[] = []
  for (const { schema, zod } of alternatives) {
    const result = zod.safeParse(value)
    if (result.success) return undefined
    failed.push({ schema, issues: result.error.issues })
  }
  const given = (issue: z.core.$ZodIssue | undefined) => at(value, issue?.path.slice(0, 1) ?? [])
  // Whoever gave the field of an alternative meant that one; of two, the one that less is wrong with.
  const meant = failed
    .filter(({ issues }) => !isBlank(given(issues[0])))
    .reduce<(typeof failed)[number] | undefined>(
      (best, one) => (best && best.issues.length <= one.issues.length ? best : one),
      undefined,
    )
  if (!meant) return { code: undefined, sentence: message }
  const [issue] = meant.issues
  const others = failed.flatMap((one) => (one === meant ? [] : (one.schema.required ?? [])))
  if (issue && isBlank(at(value, issue.path)) && others.length > 0) {
    const name = nameOf([...path, ...issue.path])
    return { code: undefined, sentence: `${name} is required when ${others.join(' or ')} is not sent.` }
  }
  return complain(meant.schema, value, meant.issues, path)
}

/** What stands for nothing: an alternative is meant when its field was given. */
const isBlank = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  (typeof value === 'string' && value.trim() === '') ||
  (Array.isArray(value) && value.length === 0)
