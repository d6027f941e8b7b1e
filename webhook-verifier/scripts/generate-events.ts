// Writes src/events.ts from the `webhooks` of openapi.yaml; with --check it only compares.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { parse } from 'yaml'
import { declare, type Schema } from './schema-types.ts'

interface Document {
  webhooks: Record<string, { post: { requestBody: { content: { 'application/json': { schema: Schema } } } } }>
  components: { schemas: Record<string, Schema> }
}

const target = new URL('../src/events.ts', import.meta.url)
const biome = new URL('../../node_modules/.bin/biome', import.meta.url).pathname

const { webhooks, components }: Document = parse(readFileSync(new URL('../../openapi.yaml', import.meta.url), 'utf8'))
const names = Object.keys(webhooks)
const known = Object.values(webhooks).map(({ post }) => {
  const ref = post.requestBody.content['application/json'].schema.$ref
  if (!ref) throw new Error('a webhook body must be a named schema')
  return ref.split('/').at(-1)!
})

const types: string[] = []
const refs = new Set(known)
// A set may grow while it is read: every name a type refers to comes last and is read in its turn.
for (const name of refs) types.push(declare(name, components.schemas[name]!, refs))

const source = `// Made from openapi.yaml by scripts/generate-events.ts; change it there.

/** The events this version knows, told apart by \`event\`. */
export type KnownEvent = ${known.join(' | ')}

export const eventNames = ${JSON.stringify(names)} as const

${types.join('\n')}`

const formatted = execFileSync(biome, ['format', '--stdin-file-path=events.ts'], { input: source, encoding: 'utf8' })
const current = readFileSync(target, 'utf8')
if (process.argv.includes('--check')) {
  if (current === formatted) process.exit(0)
  console.error(
    'src/events.ts is not what openapi.yaml says: run `pnpm --filter @referral/webhook-verifier run generate`',
  )
  process.exit(1)
}
if (current !== formatted) writeFileSync(target, formatted)
