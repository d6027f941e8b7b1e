// Writes src/version.ts, src/contract.ts, src/commands/webhooks/examples.ts, src/commands/mcp/operations.ts and REFERENCE.md;
// with --check, only compares.
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

/** Each event's example payload in the contract. */
export const examples: Record<string, { event: string; timestamp: string; shop_id: string; data: object }> = ${JSON.stringify(Object.fromEntries(all))}
`
}

/** Enums that commands offer as choices. */
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

/** Owner operations that answer the MCP server's questions, or decide what is paid. */
const OWNER_OPERATIONS = [
  'runBacktest',
  'approveCommission',
  'rejectCommission',
  'cancelCommission',
  'reverseCommission',
  'reopenCommission',
  'cancelPayout',
]

/** A schema without references, examples, and extensions. Its rule becomes its description. */
function plain(node: Json): Json {
  if (Array.isArray(node)) return node.map(plain)
  if (!node || typeof node !== 'object') return node
  const { examples: _, example: __, 'x-must': must, format, description, ...rest } = deref(node)
  const text = description ?? (must && `Must ${must}.`)
  return {
    ...Object.fromEntries(
      Object.entries(rest).flatMap(([key, value]) => (key.startsWith('x-') ? [] : [[key, plain(value)]])),
    ),
    ...(format && format !== 'instant' && { format }),
    ...(text && { description: typeof text === 'string' ? withoutLinks(text) : plain(text) }),
  }
}

const withoutLinks = (text: string) => text.replace(/\[([^\]]+)\]\([^)]*\)/g, '$1').trim()

/** API key operations, and some owner operations, as the MCP server offers them. */
function operations(): Json[] {
  const all = Object.entries<Json>(document.paths).flatMap(([path, item]) =>
    Object.entries<Json>(item).map(([method, operation]) => ({ path, method, ...operation })),
  )
  return all.flatMap(({ path, method, operationId, tags, summary, description, security, ...operation }) => {
    const isOwner = OWNER_OPERATIONS.includes(operationId)
    // A credential does not belong in a conversation.
    if (operationId === 'createAffiliateToken') return []
    if (!isOwner && !security.some((one: Json) => one.apiKey)) return []
    const group = isOwner ? path.split('/')[3] : tags[0].toLowerCase()
    const body = operation.requestBody?.content['application/json'].schema
    const parameters = (operation.parameters ?? []).map(deref).filter((one: Json) => one.in !== 'header')
    const required = parameters.filter((one: Json) => one.required || one.name === 'expectedTotalCents')
    const isRead = operation['x-retry'] === 'safe'
    const inputs = parameters.filter((one: Json) => one.name !== 'dryRun')
    const properties = Object.fromEntries(
      inputs.map((one: Json) => [one.name, { description: one.description, ...one.schema }]),
    )
    return {
      name: operationId,
      group,
      isOwner,
      method: method.toUpperCase(),
      path,
      description: withoutLinks([summary, description].filter(Boolean).join('\n\n')),
      retry: operation['x-retry'],
      pathParameters: inputs.filter((one: Json) => one.in === 'path').map((one: Json) => one.name),
      dryRun: parameters.some((one: Json) => one.name === 'dryRun')
        ? 'query'
        : !isRead && body && deref(body).properties?.dryRun
          ? 'body'
          : null,
      // Reads what a write without a dry run changes: the row with its ID.
      read: document.paths[path].get && !isOwner ? path : `/api/v1/${group}`,
      input: plain({
        type: 'object',
        properties: { ...properties, ...(body && { body }) },
        required: [...required.map((one: Json) => one.name), ...(body ? ['body'] : [])],
        additionalProperties: false,
      }),
    }
  })
}

function contract(): string {
  const { schemas, parameters } = document.components
  const enums = Object.fromEntries(ENUMS.map((name) => [name, schemas[name].enum]))
  const groups = new Set(operations().flatMap(({ group, retry }) => (retry === 'safe' ? [] : [group])))
  const journey = document.paths['/api/v1/journey'].get.parameters.find(({ name }: Json) => name === 'limit')
  return `// Generated from openapi.yaml by scripts/generate.ts. Do not edit.

/** The contract's enums. */
export const enums = ${JSON.stringify({ ...enums, EventType: eventTypes(), McpGroup: [...groups].sort() })} as const

/** Rows per page: the default and the maximum. */
export const pageLimits = ${JSON.stringify({
    list: { default: parameters.Limit.schema.default, max: parameters.Limit.schema.maximum },
    journey: { default: journey.schema.default, max: journey.schema.maximum },
  })}
`
}

function mcpFile(): string {
  return `// Generated from openapi.yaml by scripts/generate.ts. Do not edit.
import type { Operation } from './call.ts'

/** The operations that the MCP server offers. */
export const operations: readonly Operation[] = ${JSON.stringify(operations())}
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
  'src/commands/mcp/operations.ts': format('operations.ts', mcpFile()),
})
// The commands import the files written above.
const [{ createProgram }, { reference }] = await Promise.all([
  import('../src/program.ts'),
  import('../src/reference.ts'),
])
write({ 'REFERENCE.md': reference(await createProgram()) })
