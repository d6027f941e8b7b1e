// Writes src/event-types.ts from the `webhooks` of openapi.yaml. With --check it only compares.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { parse } from 'yaml'
import { declare, type Schema } from './schema-types.ts'

interface Document {
  webhooks: Record<string, { post: { requestBody: { content: { 'application/json': { schema: Schema } } } } }>
  components: { schemas: Record<string, Schema> }
}

const target = new URL('../src/event-types.ts', import.meta.url)
const biome = new URL('../../node_modules/.bin/biome', import.meta.url).pathname

const { webhooks, components }: Document = parse(readFileSync(new URL('../../openapi.yaml', import.meta.url), 'utf8'))
const names = Object.keys(webhooks)
const known = Object.values(webhooks).map(({ post }) => {
  const ref = post.requestBody.content['application/json'].schema.$ref
  if (!ref) throw new Error('A webhook body must be a named schema.')
  return ref.split('/').at(-1)!
})

const types: string[] = []
const refs = new Set(known)
// Iteration includes the names that declare() adds to the set.
for (const name of refs) types.push(declare(name, components.schemas[name]!, refs))

const source = `// Generated from openapi.yaml by \`pnpm run generate\`. Do not edit.

/** The documented events, distinguished by \`event\`. */
export type KnownEvent = ${known.join(' | ')}

export const eventNames = ${JSON.stringify(names)} as const

${types.join('\n')}`

const formatted = execFileSync(biome, ['format', '--stdin-file-path=event-types.ts'], {
  input: source,
  encoding: 'utf8',
})
const current = readFileSync(target, 'utf8')
if (process.argv.includes('--check')) {
  if (current === formatted) process.exit(0)
  console.error('webhook-verifier/src/event-types.ts is stale. Run `pnpm run generate`.')
  process.exit(1)
}
if (current !== formatted) writeFileSync(target, formatted)
