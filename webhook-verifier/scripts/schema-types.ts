/** The JSON Schema keywords that the webhook bodies use. */
export interface Schema {
  $ref?: string
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  description?: string
}

const primitives: Record<string, string> = {
  integer: 'number',
  number: 'number',
  string: 'string',
  boolean: 'boolean',
  null: 'null',
}

const doc = (schema: Schema) =>
  schema.description ? `/** ${schema.description.trim().replaceAll(/\s+/g, ' ')} */\n` : ''

const nameOf = (ref: string) => ref.split('/').at(-1)!

/** String enums accept any string, because a later server version may add values. */
const enumType = (values: unknown[]) => {
  const union = values.map((value) => JSON.stringify(value)).join(' | ')
  return values.length > 1 && values.some((value) => typeof value === 'string') ? `${union} | (string & {})` : union
}

const objectType = (schema: Schema, refs: Set<string>) => {
  const members = Object.entries(schema.properties ?? {}).map(
    ([name, property]) =>
      `${doc(property)}${name}${schema.required?.includes(name) ? '' : '?'}: ${typeOf(property, refs)}`,
  )
  return members.length ? `{\n${members.join('\n')}\n}` : 'Record<string, unknown>'
}

/** Returns the TypeScript type of a schema. Adds the schemas it references to `refs`. */
export const typeOf = (schema: Schema, refs: Set<string>): string => {
  if (schema.$ref) {
    refs.add(nameOf(schema.$ref))
    return nameOf(schema.$ref)
  }
  if ('const' in schema) return JSON.stringify(schema.const)
  if (schema.enum) return enumType(schema.enum)
  if (schema.allOf) return schema.allOf.map((part) => typeOf(part, refs)).join(' & ')
  const union = schema.anyOf ?? schema.oneOf
  if (union) return union.map((part) => typeOf(part, refs)).join(' | ')
  if (Array.isArray(schema.type)) return schema.type.map((type) => typeOf({ ...schema, type }, refs)).join(' | ')
  if (schema.type === 'array') return `Array<${schema.items ? typeOf(schema.items, refs) : 'unknown'}>`
  if (schema.type === 'object' || schema.properties) return objectType(schema, refs)
  const primitive = primitives[schema.type ?? '']
  if (!primitive) throw new Error(`No type for ${JSON.stringify(schema)}`)
  return primitive
}

/** Returns an exported declaration. Adds the schemas it references to `refs`. */
export const declare = (name: string, schema: Schema, refs: Set<string>) => {
  const type = typeOf(schema, refs)
  const body = type.startsWith('{') && !schema.allOf ? `interface ${name} ${type}` : `type ${name} = ${type}`
  return `${doc(schema)}export ${body}\n`
}
