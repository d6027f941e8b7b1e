// Writes src/version.ts, src/webhooks/examples.ts and REFERENCE.md; with --check it only compares.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { createProgram } from '../src/program.ts'
import { reference } from '../src/reference.ts'

// biome-ignore lint/suspicious/noExplicitAny: the document is walked as plain JSON
type Json = any

const home = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const document: Json = parse(readFileSync(home('../openapi.yaml'), 'utf8'))

const deref = (node: Json): Json =>
  node.$ref
    ? node.$ref
        .slice(2)
        .split('/')
        .reduce((at: Json, step: string) => at[step], document)
    : node

function examples(): string {
  const all = Object.entries<Json>(document.webhooks).map(([name, { post }]) => {
    const [first] = Object.values<Json>(post.requestBody.content['application/json'].examples)
    return [name, deref(first).value]
  })
  return `// Made from openapi.yaml by scripts/generate.ts; change it there.

/** The example of each event that the contract describes. */
export const examples: Record<string, { event: string; timestamp: string; shop_id: string; data: object }> = ${JSON.stringify(Object.fromEntries(all))}
`
}

function versionFile(): string {
  const { version } = JSON.parse(readFileSync(home('package.json'), 'utf8'))
  return `// Made from package.json by scripts/generate.ts; change it there.
export const version = '${version}'
`
}

const format = (name: string, source: string) =>
  execFileSync(home('../node_modules/.bin/biome'), ['format', `--stdin-file-path=${name}`], {
    input: source,
    encoding: 'utf8',
  })

const files = {
  'src/version.ts': format('version.ts', versionFile()),
  'src/webhooks/examples.ts': format('examples.ts', examples()),
  'REFERENCE.md': reference(await createProgram()),
}

const stale = Object.entries(files).filter(
  ([path, text]) => !existsSync(home(path)) || readFileSync(home(path), 'utf8') !== text,
)
if (process.argv.includes('--check')) {
  for (const [path] of stale)
    console.error(`cli/${path} is not current: run \`pnpm --filter @referral/cli run generate\``)
  process.exitCode = stale.length ? 1 : 0
} else for (const [path, text] of stale) writeFileSync(home(path), text)
