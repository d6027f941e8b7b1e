// biome-ignore lint/suspicious/noExplicitAny: schemas are walked as plain JSON
type Json = any

/** Who reads a value by the document: the server a request, its caller a response. */
export type Side = 'request' | 'response'

interface Where {
  side: Side
  at: string
  /** The other schema names a few fields of an object that is defined elsewhere. */
  isPart?: boolean
}

/** A schema without `allOf`: its object and its unions. */
interface Flat {
  plain: Json
  choices: Json[][]
}

const UPPER = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties', 'x-ignored-after']
const LOWER = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties']

/**
 * What breaks when a schema becomes another: of a request, whatever was accepted must be accepted still; of a response,
 * whatever is sent must have been expected.
 */
export const schemaChanges = (before: Json, after: Json, where: Where): string[] =>
  where.side === 'request' ? excess(before, after, where) : excess(after, before, where)

const busy = new Map<Json, Set<Json>>()

/** Why a value of `from` may not be a value of `to`. A recursive schema is compared once. */
function excess(from: Json, to: Json, where: Where): string[] {
  if (busy.get(from)?.has(to)) return []
  busy.set(from, (busy.get(from) ?? new Set()).add(to))
  try {
    return compared(flat(from), flat(to), where)
  } finally {
    busy.get(from)?.delete(to)
  }
}

function compared(from: Flat, to: Flat, where: Where): string[] {
  if (isUnion(from)) return from.choices.flatMap((union) => union.flatMap((one) => compared(flat(one), to, where)))
  if (isUnion(to)) {
    const types = Array.isArray(from.plain.type) ? from.plain.type : [from.plain.type]
    if (types.length > 1)
      return types.flatMap((type: string) =>
        compared({ plain: { ...from.plain, type }, choices: from.choices }, to, where),
      )
    return to.choices.flatMap((union) => nearest(alike(from, union).map((one) => compared(from, one, where))))
  }
  return [
    ...plainExcess(from.plain, to.plain, where),
    ...to.choices.flatMap((union) => (fits(from, union, where) ? [] : [`${where.at} ${WORDS[where.side].choice}`])),
  ]
}

/** Alternatives of the same type, so that an object that changed is not held to be no `null`. */
function alike(from: Flat, union: Json[]): Flat[] {
  const types = typesOf(from.plain)
  const same = union.map(flat).filter(({ plain }) => typesOf(plain).some((type) => types.includes(type)))
  return same.length > 0 ? same : union.map(flat)
}

/** The intended alternative is the one with the fewest problems. */
const nearest = (all: string[][]): string[] => all.reduce((best, one) => (one.length < best.length ? one : best))

/** Whether the object, or each alternative of one of its choices, is an alternative of this choice. */
function fits(from: Flat, union: Json[], { side, at }: Where): boolean {
  const where = { side, at, isPart: true }
  const isOneOf = (one: Flat) => union.some((other) => compared(one, flat(other), where).length === 0)
  const bare = { plain: from.plain, choices: [] }
  return isOneOf(bare) || from.choices.some((choice) => choice.every((one) => isOneOf(flat(one))))
}

const isUnion = ({ plain, choices }: Flat) =>
  choices.length > 0 && !['type', 'properties', 'enum', 'const'].some((key) => key in plain)

function flat({ allOf = [], anyOf, oneOf, ...own }: Json): Flat {
  const union = anyOf ?? oneOf
  const parts: Flat[] = [{ plain: own, choices: union ? [union] : [] }, ...allOf.map(flat)]
  return { plain: parts.map(({ plain }) => plain).reduce(merged), choices: parts.flatMap(({ choices }) => choices) }
}

function merged(one: Json, other: Json): Json {
  const both = { ...other, ...one }
  if (one.required || other.required) both.required = [...(one.required ?? []), ...(other.required ?? [])]
  if (!one.properties || !other.properties) return both
  const properties = { ...other.properties, ...one.properties }
  for (const name of Object.keys(one.properties))
    if (name in other.properties) properties[name] = { allOf: [one.properties[name], other.properties[name]] }
  return { ...both, properties }
}

const WORDS = {
  request: {
    type: 'is no longer',
    values: 'no longer takes',
    required: 'is newly required',
    bound: 'is held to',
    choice: 'needs one of several fields',
  },
  response: {
    type: 'may now be',
    values: 'may now be',
    required: 'may now be missing',
    bound: 'is no longer within',
    choice: 'is no longer one of what it was',
  },
}

function plainExcess(from: Json, to: Json, where: Where): string[] {
  const { side, at } = where
  const words = WORDS[side]
  const changes: string[] = []
  const strange = typesOf(from).filter((type) => !isAmong(type, typesOf(to)))
  if (strange.length) changes.push(`${at} ${words.type} ${strange.join(' or ')}`)
  const values = excessValues(from, to, side)
  if (values) changes.push(`${at} ${words.values} ${values}`)
  for (const key of [...UPPER, ...LOWER]) {
    if (to[key] === undefined || from[key] === to[key]) continue
    const isWithin = from[key] !== undefined && (UPPER.includes(key) ? from[key] <= to[key] : from[key] >= to[key])
    if (!isWithin) changes.push(`${at} ${words.bound} ${key} ${to[key]}`)
  }
  for (const key of ['pattern', 'format'])
    if (to[key] !== undefined && from[key] !== to[key]) changes.push(`${at} ${words.bound} ${key} ${to[key]}`)
  if (to.uniqueItems && !from.uniqueItems) changes.push(`${at} ${words.bound} uniqueItems`)
  if (side === 'request' && from.default !== undefined && from.default !== to.default)
    changes.push(`${at} is no longer ${JSON.stringify(from.default)} when omitted`)
  if (to.items) changes.push(...excess(from.items ?? {}, to.items, { side, at: `${at}[]` }))
  return [...changes, ...fieldChanges(from, to, where)]
}

/** Fields of an object: none may be removed, and no other may become required. */
function fieldChanges(from: Json, to: Json, { side, at, isPart }: Where): string[] {
  const { properties: had = {}, required: always = [] } = from
  const { properties: wanted = {}, required: needed = [] } = to
  const [before, after] = side === 'request' ? [had, wanted] : [wanted, had]
  const isClosed = to.additionalProperties === false
  const changes = needed
    .filter((name: string) => !always.includes(name) && (side === 'request' || name in after))
    .map((name: string) => `${at}.${name} ${WORDS[side].required}`)
  for (const name of Object.keys(before)) if (!(name in after) && !isPart) changes.push(`${at}.${name} is gone`)
  for (const name of Object.keys(had)) {
    if (name in wanted) changes.push(...excess(had[name], wanted[name], { side, at: `${at}.${name}` }))
    else if (side === 'response' && isClosed) changes.push(`${at}.${name} is new in an object that was closed`)
  }
  if (side === 'request' && isClosed && from.additionalProperties !== false)
    changes.push(`${at} no longer takes other fields`)
  return changes
}

/** Values that are not among those of the other schema, as text. */
function excessValues(from: Json, to: Json, side: Side): string | undefined {
  const [had, wanted] = [valuesOf(from), valuesOf(to)]
  if (!wanted || (side === 'response' && to['x-extensible-enum'])) return undefined
  if (!had) return `anything but ${wanted.join(', ')}`
  if (side === 'response' && from['x-extensible-enum']) return `more than ${wanted.join(', ')}`
  return had.filter((value) => !wanted.includes(value)).join(', ') || undefined
}

const valuesOf = (schema: Json): unknown[] | undefined => ('const' in schema ? [schema.const] : schema.enum)

const ANY = ['null', 'boolean', 'number', 'integer', 'string', 'array', 'object']

function typesOf(schema: Json): string[] {
  if (schema.type) return [schema.type].flat()
  if (schema.properties) return ['object']
  return valuesOf(schema)?.map((value) => (value === null ? 'null' : typeof value)) ?? ANY
}

const isAmong = (type: string, types: string[]) =>
  types.includes(type) || (type === 'integer' && types.includes('number'))
