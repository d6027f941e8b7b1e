import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

interface Content {
  example?: unknown
  examples?: Record<string, { value?: unknown; $ref?: string }>
}

interface DocumentedResponse {
  $ref?: string
  'x-error-codes'?: string[]
  content?: Record<string, Content>
}

/** An operation of openapi.yaml. */
export interface Operation {
  id: string
  method: string
  path: string
  tag: string
  summary: string
  retryPolicy: string
  scope: string | undefined
  /** A successful response is HTML or lines of JSON. */
  isText: boolean
  examples: { name: string; status: number; body: unknown }[]
  errors: { code: string; status: number }[]
}

interface DocumentedOperation {
  operationId: string
  tags: [string]
  summary: string
  'x-retry': string
  security?: { apiKey?: [string] }[]
  responses: Record<string, DocumentedResponse>
  'x-error-codes'?: Record<string, string[]>
}

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')

export const spec = parse(read('../../openapi.yaml')) as {
  paths: Record<string, Record<string, DocumentedOperation>>
  webhooks: Record<string, unknown>
  components: { schemas: { ErrorCode: { 'x-example-messages': Record<string, string> } } }
}

/** The version in package.json. */
export const version: string = JSON.parse(read('../package.json')).version

const TEXT_TYPES = ['text/csv', 'text/html', 'application/x-ndjson']

const deref = <T extends { $ref?: string }>(node: T): T =>
  node.$ref
    ? (node.$ref
        .slice(2)
        .split('/')
        .reduce((at, step) => (at as Record<string, unknown>)[step], spec as unknown) as T)
    : node

const examplesOf = (responses: Record<string, DocumentedResponse>) =>
  Object.entries(responses).flatMap(([status, response]) =>
    Object.values((status.startsWith('2') && response.content) || {}).flatMap((content) =>
      Object.entries(content.examples ?? { page: { value: content.example } }).map(([name, example]) => ({
        name,
        // `2XX` means 200; other successes are documented by status.
        status: status === '2XX' ? 200 : Number(status),
        body: deref(example).value,
      })),
    ),
  )

const errorsOf = (operation: DocumentedOperation) =>
  Object.entries(operation.responses).flatMap(([status, response]) =>
    [...(deref(response)['x-error-codes'] ?? []), ...(operation['x-error-codes']?.[status] ?? [])].map((code) => ({
      code,
      status: Number(status),
    })),
  )

// Clients hold no operator token.
const clientPaths = Object.entries(spec.paths).filter(([path]) => !path.startsWith('/operator/'))

export const operations: Operation[] = clientPaths.flatMap(([path, item]) =>
  Object.entries(item)
    .filter(([, operation]) => operation.operationId)
    .map(([method, operation]) => ({
      id: operation.operationId,
      method: method.toUpperCase(),
      path,
      tag: operation.tags[0],
      summary: operation.summary,
      retryPolicy: operation['x-retry'],
      scope: operation.security?.[0]?.apiKey?.[0],
      isText: TEXT_TYPES.some((type) => type in (operation.responses['200']?.content ?? {})),
      examples: examplesOf(operation.responses),
      errors: errorsOf(operation),
    })),
)
