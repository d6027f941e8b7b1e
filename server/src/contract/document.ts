import { readFileSync } from 'node:fs'
import { CORE_SCHEMA, load } from 'js-yaml'
import type { ErrorCode } from './errors.ts'

/** A piece of JSON Schema or OpenAPI, as far as this server reads it. */
export interface Schema {
  $ref?: string
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  default?: unknown
  format?: string
  pattern?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  /** The items of a list after that many are ignored. */
  'x-ignored-after'?: number
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  anyOf?: Schema[]
  allOf?: Schema[]
  /** How a sentence about a refused value ends: `<name> must <x-must>`. */
  'x-must'?: string
  /** The code of a refused value, where it has one of its own. */
  'x-error-code'?: ErrorCode
  /** The sentence when none of the fields of a choice was given. */
  'x-message'?: string
}

export interface Parameter {
  $ref?: string
  name: string
  in: 'query' | 'header' | 'path'
  required?: boolean
  description?: string
  schema: Schema
  /** Accepted, however it is sent, and not read. */
  'x-ignored'?: true
}

export interface OperationObject {
  operationId: string
  summary: string
  description: string
  tags: string[]
  security?: Record<string, string[]>[]
  parameters?: Parameter[]
  requestBody?: {
    required?: boolean
    content: Record<string, { schema: Schema; examples?: Record<string, { value: unknown }> }>
  }
  responses: Record<string, ResponseObject>
  deprecated?: boolean
  /** Of a deprecated operation: since when it is, and when it goes, at least 180 days later. */
  'x-deprecated-since'?: string
  'x-sunset'?: string
  /** The audit record that a read leaves. */
  'x-audit'?: string
  /** What attempts are counted for. */
  'x-throttle'?: 'sign-in'
  /** Where the body is bounded more tightly than the rest. */
  'x-max-body-bytes'?: number
}

export interface ResponseObject {
  $ref?: string
  description: string
  content?: Record<string, { schema: Schema; examples?: Record<string, { $ref?: string; value?: unknown }> }>
}

export interface Document {
  info: { title: string; version: string; summary: string; description: string }
  security: Record<string, string[]>[]
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, OperationObject>>
  webhooks: Record<string, { post: OperationObject }>
  components: { schemas: Record<string, Schema> } & Record<string, Record<string, unknown>>
}

/** openapi.yaml as text: the only truth about the API, served as it is. */
export const documentText = readFileSync(new URL('../../../openapi.yaml', import.meta.url), 'utf8')
// Without dates: what looks like one is text, as in JSON.
export const document = load(documentText, { schema: CORE_SCHEMA }) as Document

/** Follows a local `$ref`. */
export function deref<T extends { $ref?: string }>(node: T): T {
  if (!node.$ref) return node
  const steps = node.$ref.slice('#/'.length).split('/')
  return steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], document) as T
}

/** A schema, the object that it is, and the choices of fields of which one is needed: each an `anyOf`. */
export interface ResolvedSchema {
  schema: Schema
  object: Schema
  choices: Schema[]
}

/**
 * Reads how the document says that one of several fields is required: `allOf` of the object and, for each choice,
 * `anyOf` of objects that each require a field.
 */
export function resolveSchema(schema: Schema): ResolvedSchema {
  const plain = deref(schema)
  const { allOf: [object, ...groups] = [], ...rest } = plain
  if (!object || groups.length === 0 || !groups.every(({ anyOf }) => anyOf))
    return { schema, object: plain, choices: [] }
  return { schema, object: { ...rest, ...deref(object) }, choices: groups }
}

/** The whole objects that a body may be. */
export const alternativesOf = (schema: Schema): ResolvedSchema[] => (deref(schema).anyOf ?? [schema]).map(resolveSchema)
