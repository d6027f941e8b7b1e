// Writes the parts of openapi.yaml that the SDK uses at run time. With --check it only compares.
import { operations, spec, version } from './spec.ts'
import { writeGenerated } from './write-generated.ts'

const header = (source: string) => `// Generated from ${source} by \`pnpm run generate\`. Do not edit.\n`

const errorExamples = new Map<string, string>()
const messages = spec.components.schemas.ErrorCode['x-example-messages']
// Callers who mock the API hold an API key, not an owner token.
const mocked = operations.filter(({ path }) => path.startsWith('/api/v1/'))
const examples = mocked.map(({ id, method, path, examples, errors }) => {
  for (const { code, status } of errors)
    errorExamples.set(code, `const ${code}: Example = ${JSON.stringify([code, status, { error: messages[code] }])}`)
  const items = [
    ...examples.map(({ name, status, body }) => JSON.stringify([name, status, body])),
    ...errors.map(({ code }) => code),
  ]
  return `  ${id}: [${JSON.stringify(method)}, ${JSON.stringify(path)}, [${items.join(', ')}]],`
})

writeGenerated({
  'src/generated/operations.ts': `${header('openapi.yaml')}import type { RetryPolicy } from '../retry.ts'

/** The retry policy of each operation that is not \`never\`, and whether its response is text. */
export const operations: Record<string, readonly [RetryPolicy, isText?: true]> = {
${operations
  .filter(({ retryPolicy, isText }) => retryPolicy !== 'never' || isText)
  .map(({ method, path, retryPolicy, isText }) => `  '${method} ${path}': ['${retryPolicy}'${isText ? ', true' : ''}],`)
  .join('\n')}
}
`,
  'src/generated/event-names.ts': `${header('openapi.yaml')}
/** The names of all documented webhook events. */
export const eventNames = ${JSON.stringify(Object.keys(spec.webhooks))} as const
`,
  'src/generated/version.ts': `${header('package.json')}
/** This package's version. */
export const version = '${version}'
`,
  'src/generated/examples.ts': `${header('openapi.yaml')}import type { OperationId } from '../types.ts'

/** Name, status and body of an example response. */
export type Example = readonly [name: string, status: number, body: unknown]

${[...errorExamples.values()].join('\n')}

/** Method, path and example responses of each operation. */
export const examples: Partial<Record<OperationId, readonly [method: string, path: string, examples: readonly Example[]]>> = {
${examples.join('\n')}
}
`,
})
