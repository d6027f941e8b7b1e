// Writes src/version.ts, src/contract.ts, src/commands/webhooks/examples.ts and REFERENCE.md; with --check, only compares.
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
  return `// Generated from openapi.yaml by scripts/generate.ts. Do not edit.

/** The example payload of each event in the contract. */
export const examples: Record<string, { event: string; timestamp: string; shop_id: string; data: object }> = ${JSON.stringify(Object.fromEntries(all))}
`
}

/** The enums that commands offer as choices. */
const ENUMS = [
  'AffiliateStatus',
  'CommissionStatus',
  'ProgramStatus',
  'PayoutBatchStatus',
  'PayeeMethod',
  'AliasKind',
  'PayoutLineState',
  'PayoutFileFormat',
  'CommissionType',
  'DiscountType',
  'DeliveryStatus',
  'RetryPolicy',
  'Scope',
]

const eventTypes = () =>
  document.paths['/api/v1/events'].post.requestBody.content['application/json'].schema.anyOf.map((one: Json) => {
    const event = deref(one)
    return deref(event.allOf?.[0] ?? event).properties.type.const
  })

function contract(): string {
  const { schemas, parameters } = document.components
  const enums = Object.fromEntries(ENUMS.map((name) => [name, schemas[name].enum]))
  const journey = document.paths['/api/v1/journey'].get.parameters.find(({ name }: Json) => name === 'limit')
  return `// Generated from openapi.yaml by scripts/generate.ts. Do not edit.

/** The enums of the contract. */
export const enums = ${JSON.stringify({ ...enums, EventType: eventTypes() })} as const

/** Rows per page: the default and the maximum. */
export const pageLimits = ${JSON.stringify({
    list: { default: parameters.Limit.schema.default, max: parameters.Limit.schema.maximum },
    journey: { default: journey.schema.default, max: journey.schema.maximum },
  })}
`
}

function versionFile(): string {
  const { version } = JSON.parse(readFileSync(home('package.json'), 'utf8'))
  return `// Generated from package.json by scripts/generate.ts. Do not edit.
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
      console.error(`cli/${path} is out of date. Run \`pnpm --filter @referral/cli run generate\`.`)
      process.exitCode = 1
    } else writeFileSync(home(path), text)
  }
}

write({
  'src/version.ts': format('version.ts', versionFile()),
  'src/contract.ts': format('contract.ts', contract()),
  'src/commands/webhooks/examples.ts': format('examples.ts', examples()),
})
// The commands import the files written above.
const [{ createProgram }, { reference }] = await Promise.all([
  import('../src/program.ts'),
  import('../src/reference.ts'),
])
write({ 'REFERENCE.md': reference(await createProgram()) })
