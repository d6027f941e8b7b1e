// Writes the parts of openapi.yaml that the SDK uses at run time. With --check it only compares.
import { operations, spec, version } from './spec.ts'
import { writeGenerated } from './write-generated.ts'

const header = (source: string) => `// Generated from ${source} by \`pnpm run generate\`. Do not edit.\n`

// The rules that hold for all but a few operations. The exceptions are POST operations, known by the end of their path.
const usualPolicy = (method: string, path: string) => {
  if (method === 'GET') return 'safe'
  if (method !== 'POST') return 'repeatable'
  return path.startsWith('/api/') ? 'keyed' : 'never'
}
const endOf = (path: string) => path.split('/').at(-1)!
const unusual = operations.filter(({ method, path, retryPolicy }) => usualPolicy(method, path) !== retryPolicy)
const exceptions = Object.fromEntries(unusual.map(({ path, retryPolicy }) => [endOf(path), retryPolicy]))
for (const { method, path, retryPolicy } of operations)
  if ((method === 'POST' && exceptions[endOf(path)]) || unusual.some((one) => one.path === path)) {
    if (method !== 'POST' || exceptions[endOf(path)] !== retryPolicy)
      throw new Error(`The SDK has no rule for the retries of ${method} ${path}.`)
  }
/** Long enough that an operation of a later version is unlikely to have it. */
const MIN_ENDING = 2
/** The shortest endings that the given paths have, and none of the others: the SDK weighs less with them. */
const endings = (paths: string[], others: string[]) => {
  const shortest = (path: string) => {
    for (let length = MIN_ENDING; length < path.length; length++) {
      const ending = path.slice(-length)
      if (!others.some((other) => other.endsWith(ending))) return ending
    }
    throw new Error(`The SDK would not know ${path} by its end.`)
  }
  return [...new Set(paths.map(shortest))].join('|')
}
const posts = operations.filter(({ method, retryPolicy }) => method === 'POST' && retryPolicy !== 'keyed')
const endsWith = (policy: string) => {
  const [paths, others] = [true, false].map((isWanted) =>
    posts.filter(({ retryPolicy }) => (retryPolicy === policy) === isWanted).map(({ path }) => path),
  )
  return endings(paths!, others!)
}
const textEndings = endings(
  operations.filter(({ isText }) => isText).map(({ path }) => path),
  operations.filter(({ isText }) => !isText).map(({ path }) => path),
)
const ends = [...new Set(operations.filter(({ isText }) => isText).map(({ path }) => endOf(path)))]
for (const { path, isText } of operations)
  if (ends.includes(endOf(path)) !== isText) throw new Error(`The SDK would not know the media type of ${path}.`)

const sharedExamples = new Map<string, string>()
// Callers who mock the API hold an API key, not an owner token.
const mocked = operations.filter(({ path }) => path.startsWith('/api/v1/'))
const examples = mocked.map(({ id, method, path, examples }) => {
  const items = examples.map(({ name, status, body, isShared }) => {
    if (!isShared || status < 400) return JSON.stringify([name, status, body])
    sharedExamples.set(name, `const ${name}: Example = ${JSON.stringify([name, status, body])}`)
    return name
  })
  return `  ${id}: [${JSON.stringify(method)}, ${JSON.stringify(path)}, [${items.join(', ')}]],`
})

writeGenerated({
  'src/generated/retry-policies.ts': `${header('openapi.yaml')}import type { RetryPolicy } from '../retry.ts'

/** The paths whose responses are text. */
export const TEXT_PATH = /(${textEndings})$/

/** Returns the retry policy of an operation. */
export const retryPolicyOf = (method: string, path: string): RetryPolicy => {
  if (method === 'GET') return 'safe'
  if (method !== 'POST') return 'repeatable'
  if (path.startsWith('/api/')) return 'keyed'
  return /(${endsWith('safe')})$/.test(path) ? 'safe' : /(${endsWith('repeatable')})$/.test(path) ? 'repeatable' : 'never'
}
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

/** Method, path and example responses of each operation. */
export const examples: Partial<Record<OperationId, readonly [method: string, path: string, examples: readonly Example[]]>> = {
${examples.join('\n')}
}
`,
})
