// Writes the parts of openapi.yaml that the SDK uses at run time. With --check it only compares.
import { operations, spec, version } from './spec.ts'
import { writeGenerated } from './write-generated.ts'

const header = (source: string) => `// Generated from ${source} by \`pnpm run generate\`. Do not edit.\n`

const constants = operations.map(({ id, method, path, retryPolicy, isText }) => {
  const parts = [method, path, retryPolicy, ...(isText ? ['text'] : [])]
  return `export const ${id}: Operation<'${id}'> = ${JSON.stringify(parts)}`
})

// The methods that HTTP defines as safe or idempotent.
const defaultRetryPolicies: Record<string, string> = { GET: 'safe', PUT: 'repeatable', DELETE: 'repeatable' }
const exceptions = operations
  .filter(({ method, retryPolicy, isText }) => isText || retryPolicy !== (defaultRetryPolicies[method] ?? 'never'))
  .map(({ id }) => `  ${id},\n`)
  .join('')

const sharedExamples = new Map<string, string>()
// Callers who mock the API hold an API key, not an owner token.
const mocked = operations.filter(({ path }) => path.startsWith('/api/v1/'))
const examples = mocked.map(({ id, examples }) => {
  const items = examples.map(({ name, status, body, isShared }) => {
    if (!isShared || status < 400) return JSON.stringify([name, status, body])
    sharedExamples.set(name, `const ${name}: Example = ${JSON.stringify([name, status, body])}`)
    return name
  })
  return `  ${id}: [${items.join(', ')}],`
})

writeGenerated({
  'src/generated/operations.ts': `${header('openapi.yaml')}import type { Operation } from '../types.ts'\n\n${constants.join('\n')}\n`,
  'src/generated/operation-metadata.ts': `${header('openapi.yaml')}import type { RetryPolicy } from '../retry.ts'
import {\n${exceptions}} from './operations.ts'

/** The retry policy of each method. A method that is not listed is never retried. */
export const defaultRetryPolicies: Record<string, RetryPolicy> = ${JSON.stringify(defaultRetryPolicies)}

/** The operations that differ from the default of their method. */
export const operationMetadata = [\n${exceptions}]
`,
  'src/generated/event-names.ts': `${header('openapi.yaml')}
/** The names of all documented webhook events. */
export const eventNames = ${JSON.stringify(Object.keys(spec.webhooks))} as const
`,
  'src/generated/version.ts': `${header('package.json')}
/** The version of this package. */
export const version = '${version}'
`,
  'src/generated/examples.ts': `${header('openapi.yaml')}import type { OperationId } from '../types.ts'

/** Name, status and body of an example response. */
export type Example = readonly [name: string, status: number, body: unknown]

${[...sharedExamples.values()].join('\n')}

export const examples: Partial<Record<OperationId, readonly Example[]>> = {
${examples.join('\n')}
}
`,
})
