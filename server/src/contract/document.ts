import { readFileSync } from 'node:fs'
import { runsFromSource } from '../runs-from-source.ts'
import type { ErrorCode } from './errors.ts'

/** The part of JSON Schema and OpenAPI that this server uses. */
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
  /** Array items beyond this number are ignored. */
  'x-ignored-after'?: number
  items?: Schema
  propertyNames?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  anyOf?: Schema[]
  allOf?: Schema[]
  /** Completes the message for an invalid value: `<name> must <x-must>`. */
  'x-must'?: string
  /** The error code of an invalid value, if not the general one. */
  'x-error-code'?: ErrorCode
  /** The message if none of several alternative fields was sent. */
  'x-message'?: string
}

export interface Parameter {
  $ref?: string
  name: string
  in: 'query' | 'header' | 'path'
  required?: boolean
  description?: string
  schema: Schema
  /** Accepted with any value and ignored. */
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
  /** When the operation was deprecated, and when it will be removed, at least 180 days later. */
  'x-deprecated-since'?: string
  'x-sunset'?: string
  /** The audit record that a read writes. */
  'x-audit'?: string
  /** The limit that attempts count towards. */
  'x-throttle'?: 'sign-in'
  /** For operations that serve a shop's pages without a credential: a script, a link to follow, or a page's report. */
  'x-site'?: 'script' | 'link' | 'report'
  /** A body limit below the general one. */
  'x-max-body-bytes'?: number
}

interface ResponseObject {
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

// The published package contains copies.
const SOURCE = new URL(runsFromSource ? '../../../' : '../', import.meta.url)
const texts = new Map<string, string>()
/** Reads openapi.yaml, the source of truth about the API, or the workflows that use it. Both are served unchanged. */
export function readContract(file: 'openapi.yaml' | 'referral.arazzo.yaml'): string {
  const text = texts.get(file) ?? readFileSync(new URL(file, SOURCE), 'utf8')
  texts.set(file, text)
  return text
}

/** The document converted to JSON by `generate`. Each start parses it thirty times as fast as the YAML. */
export const document: Document = JSON.parse(readFileSync(new URL('./document.json', import.meta.url), 'utf8'))

/** Follows a local `$ref`. */
export function deref<T extends { $ref?: string }>(node: T): T {
  if (!node.$ref) return node
  const steps = node.$ref.slice('#/'.length).split('/')
  return steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], document) as T
}

/** A schema, its object, and its choices: each an `anyOf` of fields, at least one of which is required. */
export interface ResolvedSchema {
  schema: Schema
  object: Schema
  choices: Schema[]
}

/**
 * Resolves the document's notation for "one of several fields is required": `allOf` of the object and, for each choice,
 * an `anyOf` of objects that each require a field.
 */
export function resolveSchema(schema: Schema): ResolvedSchema {
  const plain = deref(schema)
  const { allOf: [object, ...groups] = [], ...rest } = plain
  if (!object || groups.length === 0 || !groups.every(({ anyOf }) => anyOf))
    return { schema, object: plain, choices: [] }
  return { schema, object: { ...rest, ...deref(object) }, choices: groups }
}

/** The alternative objects that a body may be. */
export const alternativesOf = (schema: Schema): ResolvedSchema[] => (deref(schema).anyOf ?? [schema]).map(resolveSchema)
