// Writes src/version.ts, src/contract.ts, src/webhooks/examples.ts and REFERENCE.md; with --check it only compares.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

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

/** The lists of values that commands offer. */
const LISTS = [
  'AffiliateStatus',
  'CommissionStatus',
  'ProgramStatus',
  'PayoutBatchStatus',
  'CommissionType',
  'DiscountType',
  'Scope',
]

const eventTypes = () =>
  document.paths['/api/v1/events'].post.requestBody.content['application/json'].schema.anyOf.map((one: Json) => {
    const event = deref(one)
    return deref(event.allOf?.[0] ?? event).properties.type.const
  })

function contract(): string {
  const { schemas, parameters } = document.components
  const values = Object.fromEntries(LISTS.map((name) => [name, schemas[name].enum]))
  const journey = document.paths['/api/v1/journey'].get.parameters.find(({ name }: Json) => name === 'limit')
  return `// Made from openapi.yaml by scripts/generate.ts; change it there.

/** The lists of values that the contract has. */
export const values = ${JSON.stringify({ ...values, EventType: eventTypes() })} as const

/** How many rows come at once: without being asked for, and at most. */
export const rows = ${JSON.stringify({
    list: { usual: parameters.Limit.schema.default, most: parameters.Limit.schema.maximum },
    journey: { usual: journey.schema.default, most: journey.schema.maximum },
  })}
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

function write(files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    if (existsSync(home(path)) && readFileSync(home(path), 'utf8') === text) continue
    if (process.argv.includes('--check')) {
      console.error(`cli/${path} is not current: run \`pnpm --filter @referral/cli run generate\``)
      process.exitCode = 1
    } else writeFileSync(home(path), text)
  }
}

write({
  'src/version.ts': format('version.ts', versionFile()),
  'src/contract.ts': format('contract.ts', contract()),
  'src/webhooks/examples.ts': format('examples.ts', examples()),
})
// The commands are made of the files above.
const [{ createProgram }, { reference }] = await Promise.all([
  import('../src/program.ts'),
  import('../src/reference.ts'),
])
write({ 'REFERENCE.md': reference(await createProgram()) })
