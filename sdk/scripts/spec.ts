import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

interface Content {
  example?: unknown
  examples?: Record<string, { value?: unknown; $ref?: string }>
}

interface Answer {
  $ref?: string
  content?: Record<string, Content>
}

/** An operation as openapi.yaml has it. */
export interface Operation {
  id: string
  method: string
  path: string
  tag: string
  summary: string
  retry: string
  scope: string | undefined
  /** A success is a page, not JSON. */
  isText: boolean
  /** Every example of an answer; `shared` when several operations have it. */
  examples: { name: string; status: number; body: unknown; shared: boolean }[]
}

interface Described {
  operationId: string
  tags: [string]
  summary: string
  'x-retry': string
  security?: { apiKey?: [string] }[]
  responses: Record<string, Answer>
}

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')

export const spec = parse(read('../../openapi.yaml')) as {
  paths: Record<string, Record<string, Described>>
  webhooks: Record<string, unknown>
}

/** The version in package.json. */
export const version: string = JSON.parse(read('../package.json')).version

const deref = <T extends { $ref?: string }>(node: T): T =>
  node.$ref
    ? (node.$ref
        .slice(2)
        .split('/')
        .reduce((at, step) => (at as Record<string, unknown>)[step], spec as unknown) as T)
    : node

const examplesOf = (responses: Record<string, Answer>) =>
  Object.entries(responses).flatMap(([status, answer]) =>
    Object.values(deref(answer).content ?? {}).flatMap((content) =>
      Object.entries(content.examples ?? { page: { value: content.example } }).map(([name, example]) => ({
        name,
        // `2XX` is 200, where the other successes have a status of their own.
        status: status === '2XX' ? 200 : Number(status),
        body: deref(example).value,
        shared: Boolean(answer.$ref ?? example.$ref),
      })),
    ),
  )

export const operations: Operation[] = Object.entries(spec.paths).flatMap(([path, item]) =>
  Object.entries(item)
    .filter(([, described]) => described.operationId)
    .map(([method, described]) => ({
      id: described.operationId,
      method: method.toUpperCase(),
      path,
      tag: described.tags[0],
      summary: described.summary,
      retry: described['x-retry'],
      scope: described.security?.[0]?.apiKey?.[0],
      isText: 'text/html' in (described.responses['200']?.content ?? {}),
      examples: examplesOf(described.responses),
    })),
)
