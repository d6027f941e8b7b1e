// Writes src/generated/contract.ts from openapi.yaml and docs/reference/conformance.md from the checks. With --check it only compares.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

// biome-ignore lint/suspicious/noExplicitAny: the document is walked as plain JSON
type Json = any

const root = join(import.meta.dirname, '../../..')
const document: Json = parse(readFileSync(join(root, 'openapi.yaml'), 'utf8'))

/** The keywords that describe what a response contains. Bounds apply to requests. */
const KEYWORDS = ['type', 'required', 'properties', 'items', 'anyOf', 'allOf', 'const', 'format', '$ref']

const used = new Set<string>()

function reduce(schema: Json): Json {
  const kept = Object.fromEntries(Object.entries<Json>(schema).filter(([key]) => KEYWORDS.includes(key)))
  // New values may be added to an extensible list.
  if (schema.enum && !schema['x-extensible-enum']) kept.enum = schema.enum
  if (kept.$ref) used.add(kept.$ref.split('/').at(-1))
  if (kept.properties)
    kept.properties = Object.fromEntries(
      Object.entries<Json>(kept.properties).map(([name, one]) => [name, reduce(one)]),
    )
  if (kept.items) kept.items = reduce(kept.items)
  for (const key of ['anyOf', 'allOf']) if (kept[key]) kept[key] = kept[key].map(reduce)
  return kept
}

const operations: Json = {}
for (const [path, item] of Object.entries<Json>(document.paths)) {
  if (!/^\/((api|admin)\/v1|integrations|t|r)\//.test(path)) continue
  for (const [method, op] of Object.entries<Json>(item)) {
    if (!op.operationId) continue
    const responses: Json = {}
    const files = new Set<string>()
    for (const [status, response] of Object.entries<Json>(op.responses)) {
      if (!/^[23]/.test(status)) continue
      if (!response.content) responses[status] = {}
      for (const [type, { schema }] of Object.entries<Json>(response.content ?? {}))
        if (type === 'application/json') responses[status === '2XX' ? '200' : status] = reduce(schema)
        else files.add(type)
    }
    const scope = (op.security ?? document.security)[0]?.apiKey?.[0] ?? null
    operations[op.operationId] = {
      method: method.toUpperCase(),
      path,
      scope,
      responses,
      ...(files.size && { files: [...files] }),
    }
  }
}
const schemas: Json = {}
for (let size = -1; size !== used.size; ) {
  size = used.size
  for (const name of [...used]) schemas[name] ??= reduce(document.components.schemas[name])
}
const events = Object.fromEntries(
  Object.entries<Json>(document.webhooks).map(([name, { post }]) => [
    name,
    reduce(post.requestBody.content['application/json'].schema),
  ]),
)
for (let size = -1; size !== used.size; ) {
  size = used.size
  for (const name of [...used]) schemas[name] ??= reduce(document.components.schemas[name])
}

const format = (source: string) =>
  execFileSync(join(root, 'node_modules/.bin/biome'), ['format', '--stdin-file-path=contract.ts'], {
    input: source,
    encoding: 'utf8',
  })

function write(path: string, text: string): void {
  const file = join(root, path)
  if (existsSync(file) && readFileSync(file, 'utf8') === text) return
  if (process.argv.includes('--check')) {
    console.error(`${path} is stale. Run \`pnpm run generate\`.`)
    process.exitCode = 1
  } else writeFileSync(file, text)
}

write(
  'test/conformance/src/generated/contract.ts',
  format(`// Generated from openapi.yaml by scripts/generate.ts. Do not edit.
import type { DocumentedOperation, Schema } from '../schema.ts'

export const operations: Record<string, DocumentedOperation> = ${JSON.stringify(operations)}

/** Every scope of an API key. */
export const scopes: readonly string[] = ${JSON.stringify(document.components.schemas.Scope.enum)}

/** The fields that a PATCH of an affiliate changes. */
export type AffiliateField = ${Object.keys(document.components.schemas.AffiliateUpdate.properties)
    .map((name) => `'${name}'`)
    .join(' | ')}

export const events: Record<string, Schema> = ${JSON.stringify(events)}

export const schemas: Record<string, Schema> = ${JSON.stringify(schemas)}
`),
)

// The checks import the file written above.
const { checks, groups } = await import('../src/checks/all.ts')
const sections = groups.map(({ name, title, suite }) => {
  const own = checks.filter((check) => check.group === name)
  const lines = own.map((check) => {
    const page = check.page.startsWith('reference/') ? check.page.slice('reference/'.length) : `../${check.page}`
    return `- \`${check.name}\`: ${check.rule.replace(/[.]?$/, '.')}${check.page.startsWith('reference/conformance') ? '' : ` ([more](${page}))`}`
  })
  return `## ${title}\n\nSuite \`${suite}\`.\n\n${lines.join('\n')}\n`
})
// Each covered operation has a check of its responses.
const isCovered = (id: string) =>
  checks.some(({ name }) => [`schema/${id}`, `owner-schema/${id}`, `site-schema/${id}`].includes(name))
const uncovered = Object.entries<Json>(document.paths).flatMap(([path, item]) =>
  Object.entries<Json>(item)
    .filter(([, op]) => op.operationId && !isCovered(op.operationId))
    .map(([method, { operationId }]) => `- \`${method.toUpperCase()} ${path}\` (\`${operationId}\`)`),
)
write(
  'docs/reference/conformance.md',
  `# Rules of the contract

<!-- Generated from test/conformance by its scripts/generate.ts. Do not edit. -->

Each rule is a named check of [@referral/conformance](../../test/conformance/README.md), which tests any server over HTTP. There are ${checks.length} checks. The section [Operations without a check](#operations-without-a-check) lists what they do not cover.

With a published package, run \`npx -y @referral/conformance\` in any folder. Before the publication, pack it in a checkout and run \`npx -y -p /tmp/referral-conformance-0.1.0.tgz conformance\`, as [its page](../../test/conformance/README.md#run) describes.

${sections.join('\n')}
## Operations without a check

A server passes without these ${uncovered.length} operations of the document:

${uncovered.join('\n')}
`,
)
