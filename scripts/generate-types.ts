// Writes the types of openapi.yaml for the server and the SDK, and openapi.yaml as JSON for the server. With --check it
// writes nothing and fails when one is stale.
// A package of its own, because openapi-typescript needs the compiler API of TypeScript 5.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { CORE_SCHEMA, load } from 'js-yaml'
import openapiTS, { astToString, COMMENT_HEADER, type OpenAPI3, type OpenAPITSOptions } from 'openapi-typescript'

const root = new URL('../', import.meta.url)
const document = new URL('openapi.yaml', root)

const typesOf = async (source: URL | OpenAPI3, options: OpenAPITSOptions = {}): Promise<string> =>
  `${COMMENT_HEADER}${astToString(await openapiTS(source, { silent: true, ...options }))}`

// The core schema keeps timestamps as text, as in JSON.
const readDocument = () => load(readFileSync(document, 'utf8'), { schema: CORE_SCHEMA })

type Parts = Record<string, Record<string, unknown>>

/** Removes the headers of responses: clients read them from the `Response`, and their types were a third of the package. */
function withoutResponseHeaders<Node>(node: Node): Node {
  if (Array.isArray(node)) return node.map(withoutResponseHeaders) as Node
  if (node === null || typeof node !== 'object') return node
  const { headers, ...response } = node as Record<string, unknown>
  const kept = headers && ('content' in response || 'description' in response) ? response : (node as object)
  return Object.fromEntries(Object.entries(kept).map(([name, inner]) => [name, withoutResponseHeaders(inner)])) as Node
}

/** The document without what SDK users never call, and what only it refers to: the operator API, and what a shop's pages call. */
function clientDocument(): OpenAPI3 {
  const { paths: all, ...others } = readDocument() as { paths: Record<string, unknown>; components: Parts }
  const whole = { ...others, paths: withoutResponseHeaders(all) }
  whole.components = { ...whole.components, responses: withoutResponseHeaders(whole.components.responses ?? {}) }
  const paths = Object.fromEntries(Object.entries(whole.paths).filter(([path]) => !/^\/(operator|t|r)\//.test(path)))
  const used = new Set<string>()
  const visit = (node: unknown): void => {
    if (node === null || typeof node !== 'object') return
    const { $ref } = node as { $ref?: unknown }
    if (typeof $ref === 'string' && !used.has($ref)) {
      used.add($ref)
      const [, , kind = '', name = ''] = $ref.split('/')
      visit(whole.components[kind]?.[name])
    }
    for (const inner of Object.values(node)) visit(inner)
  }
  const { components, ...rest } = { ...whole, paths }
  visit(rest)
  const isUsed = (kind: string, name: string) => kind === 'securitySchemes' || used.has(`#/components/${kind}/${name}`)
  const kept = Object.entries(components).map(([kind, parts]) => [
    kind,
    Object.fromEntries(Object.entries(parts).filter(([name]) => isUsed(kind, name))),
  ])
  return { ...rest, components: Object.fromEntries(kept) } as unknown as OpenAPI3
}

interface Operation {
  operationId: string
  security?: Record<string, string[]>[]
  'x-site'?: string
}

/** The name of each operation's security scheme; for one without, `site` for pages of a shop and `none` for others. The generated types leave it out. */
function securityTypes(): string {
  const { paths, security } = readDocument() as {
    paths: Record<string, Record<string, Partial<Operation>>>
    security: Record<string, string[]>[]
  }
  const lines = Object.values(paths)
    .flatMap((item) => Object.values(item))
    .flatMap((operation) => {
      const [scheme] = operation.security ?? security
      const open = operation['x-site'] ? 'site' : 'none'
      return operation.operationId ? [`  ${operation.operationId}: '${scheme ? Object.keys(scheme)[0] : open}'`] : []
    })
  return `${COMMENT_HEADER}export interface SecuritySchemes {\n${lines.join('\n')}\n}\n`
}

const targets: Record<string, () => Promise<string> | string> = {
  'server/src/contract/schema.d.ts': () => typesOf(document),
  'server/src/contract/security.d.ts': securityTypes,
  // One value a line, so that changes merge.
  'server/src/contract/document.json': () => `${JSON.stringify(readDocument(), null, 1)}\n`,
  // A caller may leave out a field that has a default.
  'sdk/src/schema.ts': () => typesOf(clientDocument(), { defaultNonNullable: false }),
}

for (const [path, generate] of Object.entries(targets)) {
  const target = new URL(path, root)
  const text = await generate()
  if (existsSync(target) && readFileSync(target, 'utf8') === text) continue
  if (process.argv.includes('--check')) {
    console.error(`${path} is stale. Run \`pnpm run generate\`.`)
    process.exitCode = 1
  } else writeFileSync(target, text)
}
