// Writes reference/errors.md: every error code of openapi.yaml with its cause and remedy. With --check it only compares.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

interface Response {
  'x-error-codes'?: string[]
}
interface Operation {
  operationId: string
  responses: Record<string, Response | { $ref: string }>
  'x-error-codes'?: Record<string, string[]>
}

const document = parse(readFileSync(join(import.meta.dirname, '../../openapi.yaml'), 'utf8'))

const deref = <T>(value: T | { $ref: string }): T =>
  value && typeof value === 'object' && '$ref' in value
    ? value.$ref
        .slice(2)
        .split('/')
        .reduce((at, key) => at[key], document)
    : (value as T)

interface Code {
  status: string
  operations: string[]
}

/** Codes that are not specific to an operation; the introduction of the document describes them. */
const codes = new Map<string, Code>(
  Object.entries({ header_repeated: 400, request_malformed: 400, request_timeout: 400, path_unknown: 404 }).map(
    ([code, status]) => [code, { status: String(status), operations: [] }],
  ),
)
const operations = Object.values<Record<string, Operation>>(document.paths).flatMap((path) => Object.values(path))
for (const { operationId, responses, 'x-error-codes': own } of operations) {
  for (const [status, response] of Object.entries(responses)) {
    for (const code of [...(deref<Response>(response)['x-error-codes'] ?? []), ...(own?.[status] ?? [])]) {
      const known = codes.get(code) ?? { status, operations: [] }
      if (known.status !== status) throw new Error(`${code} has two statuses.`)
      known.operations.push(operationId)
      codes.set(code, known)
    }
  }
}

const STATUSES: Record<string, string> = {
  400: 'The request is invalid',
  401: 'Not authenticated',
  403: 'The credential does not allow this',
  404: 'Not found',
  405: 'The method is not supported',
  409: 'Conflict with the current state',
  429: 'Rate limited',
  500: 'The server failed',
  503: 'Temporarily unavailable',
}
const {
  'x-enumDescriptions': descriptions,
  'x-example-messages': messages,
}: Record<string, Record<string, string>> = document.components.schemas.ErrorCode

function entry(code: string): string {
  const { operations: used } = codes.get(code)!
  const [cause, remedy] = (descriptions?.[code] ?? '').split('\n')
  if (!cause || !remedy) throw new Error(`${code} needs a cause and a remedy.`)
  const where = used.length === 0 || used.length > 12 ? '' : `Returned by ${used.map((id) => `\`${id}\``).join(', ')}.`
  const message = messages?.[code]
  const shown = message && message.length < 200 ? `> ${message}` : ''
  return [`### ${code}`, shown, cause, `**Remedy:** ${remedy}`, where].filter(Boolean).join('\n\n')
}

const sections = Object.entries(STATUSES).map(([status, title]) => {
  const own = [...codes].filter(([, one]) => one.status === status).map(([code]) => code)
  return `## ${status}: ${title.toLowerCase()}\n\n${own.sort().map(entry).join('\n\n')}`
})
const enumerated: string[] = document.components.schemas.ErrorCode.enum
const missing = enumerated
  .filter((code) => !codes.has(code))
  .concat([...codes.keys()].filter((code) => !enumerated.includes(code)))
if (missing.length > 0) throw new Error(`No operation, or no list of codes, contains ${missing.join(', ')}.`)

const text = `# Errors

<!-- Generated from openapi.yaml by docs/scripts/generate-errors.ts. Do not edit. -->

The body of an error is \`{ "error": "<message>" }\`. The header \`X-Error-Code\` contains one of the codes below; they are part of the contract, messages are not. Include the \`X-Request-Id\` of the response when you report a problem: the log of the server contains it.

A request that fails changes nothing, except for 503 \`outcome_unknown\`. Under \`/api/v1\`, a POST can be retried with the same \`Idempotency-Key\`; the SDK does this. Other operations accept no key: fetch the resource before you repeat a change whose outcome is unknown.

${sections.join('\n\n')}
`

const file = join(import.meta.dirname, '../reference/errors.md')
const isCurrent = existsSync(file) && readFileSync(file, 'utf8') === text
if (!process.argv.includes('--check')) writeFileSync(file, text)
else if (!isCurrent) {
  console.error('docs/reference/errors.md is stale. Run `pnpm run generate`.')
  process.exitCode = 1
}
