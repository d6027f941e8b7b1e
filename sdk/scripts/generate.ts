// Writes what the client needs of openapi.yaml at run time. With --check it only compares.
import { generated } from './generated.ts'
import { operations, spec, version } from './spec.ts'

const from = (source: string) => `// Generated from ${source} by \`pnpm run generate\`. Do not edit.\n`

const routes = operations.map(({ id, method, path, retry, isText }) => {
  const parts = [method, path, retry, ...(isText ? ['text'] : [])]
  return `export const ${id}: Route<'${id}'> = ${JSON.stringify(parts)}`
})

// What HTTP calls idempotent.
const usual: Record<string, string> = { GET: 'safe', PUT: 'repeatable', DELETE: 'repeatable' }
const unusual = operations
  .filter(({ method, retry, isText }) => isText || retry !== (usual[method] ?? 'never'))
  .map(({ id }) => `  ${id},\n`)
  .join('')

const literal = (body: unknown) => JSON.stringify(body)

const shared = new Map<string, string>()
// Who mocks the service holds an API key, not an owner's token.
const mocked = operations.filter(({ path }) => path.startsWith('/api/v1/'))
const listed = mocked.map(({ id, examples }) => {
  const items = examples.map(({ name, status, body, shared: isShared }) => {
    if (!isShared || status < 400) return literal([name, status, body])
    shared.set(name, `const ${name}: Example = ${literal([name, status, body])}`)
    return name
  })
  return `  ${id}: [${items.join(', ')}],`
})

generated({
  'src/generated/operations.ts': `${from('openapi.yaml')}import type { Route } from '../route.ts'\n\n${routes.join('\n')}\n`,
  'src/generated/unusual.ts': `${from('openapi.yaml')}import type { Retry } from '../retry.ts'
import {\n${unusual}} from './operations.ts'

/** What may be sent again, where nothing else is said: never what is not listed. */
export const usual: Record<string, Retry> = ${JSON.stringify(usual)}

/** The operations that are not as usual. */
export const unusual = [\n${unusual}]
`,
  'src/generated/event-names.ts': `${from('openapi.yaml')}
/** Every webhook event that is described. */
export const eventNames = ${JSON.stringify(Object.keys(spec.webhooks))} as const
`,
  'src/generated/version.ts': `${from('package.json')}
/** The version of this package. */
export const version = '${version}'
`,
  'src/generated/examples.ts': `${from('openapi.yaml')}import type { OperationId } from '../types.ts'

/** Name, status and body of an answer. */
export type Example = readonly [name: string, status: number, body: unknown]

${[...shared.values()].join('\n')}

export const examples: Partial<Record<OperationId, readonly Example[]>> = {
${listed.join('\n')}
}
`,
})
