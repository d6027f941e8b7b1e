import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

// biome-ignore lint/suspicious/noExplicitAny: the document is walked as plain JSON
type Json = any

const ROOT = join(import.meta.dirname, '../..')
const document: Json = parse(readFileSync(join(ROOT, 'openapi.yaml'), 'utf8'))

/** The variables of the credentials, as in the demo shop's `demo.env`. Stores sign their requests instead. */
const TOKENS: Record<string, string> = {
  api: 'REFERRAL_API_KEY',
  admin: 'REFERRAL_OWNER_TOKEN',
  operator: 'REFERRAL_OPERATOR_TOKEN',
}

const deref = (node: Json): Json =>
  node?.$ref
    ? deref(
        node.$ref
          .slice(2)
          .split('/')
          .reduce((at: Json, step: string) => at[step], document),
      )
    : node

/** Optional parameters that a useful request needs. */
const NEEDED: Record<string, string> = {
  getAffiliateBalance: 'affiliateId',
  getJourney: 'affiliateId',
  payPayout: 'expectedTotalCents',
}

/** A value of a required parameter, or a placeholder such as `<id>`. */
function parameterValue(name: string, given: Json): string {
  const schema = deref(given)
  if (name === 'month') return '2026-10'
  if (schema.format === 'instant' || schema.format === 'date-time') return '2026-10-01'
  return String(schema.example ?? schema.enum?.[0] ?? schema.minimum ?? `<${name}>`)
}

/** The first example of each method of the SDK, by the operation that it sends. */
async function sdkExamples(): Promise<Map<string, string>> {
  // Not a static import: the SDK's scripts belong to another TypeScript project.
  const { clientOperations, adminOperations } = await import(join(ROOT, 'sdk/scripts/resource-methods.ts'))
  const found = new Map<string, string>()
  for (const [client, operations] of Object.entries({ client: clientOperations, admin: adminOperations })) {
    const code = globSync(`sdk/src/${client === 'client' ? 'resources' : 'admin'}/*.ts`, { cwd: ROOT })
      .map((file) => readFileSync(join(ROOT, file), 'utf8'))
      .join('\n')
    for (const [name, { id }] of operations as Map<string, { id: string }>) {
      const lines = [...code.matchAll(/@example\n((?: *\* .+\n)+)/g)].map(([, text = '']) =>
        text.replaceAll(/^ *\* ?/gm, ''),
      )
      const example = lines.find((text) => text.includes(`${client}.${name}(`))
      if (example && !found.has(id)) found.set(id, example.trim())
    }
  }
  return found
}

export interface Sample {
  lang: string
  label: string
  source: string
}

/** Samples of each operation for curl, TypeScript where the SDK has a method, and the CLI. */
export async function samples(): Promise<Map<string, Sample[]>> {
  const typescript = await sdkExamples()
  const all = new Map<string, Sample[]>()
  for (const [path, item] of Object.entries<Json>(document.paths)) {
    const token = TOKENS[path.split('/')[1] ?? '']
    for (const [verb, operation] of token ? Object.entries<Json>(item) : []) {
      if (!operation.operationId) continue
      const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map(deref)
      const query = parameters
        .filter((one: Json) => one.in === 'query' && (one.required || one.name === NEEDED[operation.operationId]))
        .map(({ name, schema }: Json) => `${name}=${parameterValue(name, schema)}`)
      const url = path.replaceAll(/\{(\w+)\}/g, '<$1>') + (query.length ? `?${query.join('&')}` : '')
      const content = deref(operation.requestBody)?.content?.['application/json']
      const [first] = Object.values<Json>(content?.examples ?? {})
      const body = content && JSON.stringify(deref(first)?.value ?? {}).replaceAll("'", "'\\''")
      const method = verb.toUpperCase()
      const curl = [
        `curl "$REFERRAL_BASE_URL${url}"`,
        ...(method === 'GET' || (method === 'POST' && body) ? [] : [`-X ${method}`]),
        `-H "Authorization: Bearer $${token}"`,
        ...(operation['x-retry'] === 'keyed' ? ["-H 'Idempotency-Key: <key>'"] : []),
        ...(body ? ["-H 'Content-Type: application/json'", `-d '${body}'`] : []),
      ]
      const code = typescript.get(operation.operationId)
      const cli = `referral api ${method} '${url}'${body ? ' --input -' : ''}`
      all.set(operation.operationId, [
        { lang: 'bash', label: 'curl', source: curl.join(' \\\n  ') },
        ...(code ? [{ lang: 'typescript', label: 'TypeScript', source: code }] : []),
        ...(token === 'REFERRAL_OPERATOR_TOKEN'
          ? []
          : [{ lang: 'bash', label: 'CLI', source: body ? `echo '${body}' | ${cli}` : cli }]),
      ])
    }
  }
  return all
}
