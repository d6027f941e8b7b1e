// Prints the size of bundles, minified and gzipped, and fails above the limit.
// With --json also prints the smoke test, bundled for a runtime with Web APIs only.
import { bundle, gzipped } from './bundle.ts'

type Entry = [name: string, source: string, limit: number, external?: string[]]

const resources = ['affiliates', 'payouts', 'events', 'analytics'].map(
  (resource): Entry => [
    `one resource, without openapi-fetch: ${resource}`,
    `export { createCore, ${resource} } from '../src/index.ts'`,
    6_900,
    ['openapi-fetch'],
  ],
)

const middleware = ['express', 'fastify', 'hono', 'next'].map(
  (framework): Entry => [framework, `export * from '../src/${framework}.ts'`, 1_000],
)

// A method of a resource takes about 30 bytes.
const entries: Entry[] = [
  ['everything', `export * from '../src/index.ts'`, 11_100],
  ['createReferralClient', `export { createReferralClient } from '../src/index.ts'`, 10_800],
  ...resources,
  ...middleware,
  ['isKnownEvent', `export { isKnownEvent } from '../src/index.ts'`, 500],
]

const sizes: Record<string, [size: number, limit: number]> = {}
for (const [name, source, limit, external] of entries) {
  sizes[name] = [gzipped(await bundle(source, { external })), limit]
}

if (process.argv.includes('--json')) {
  const check = await bundle(`export * from './smoke/smoke-browser.mjs'`, { format: 'iife' })
  console.log(JSON.stringify({ sizes, selfCheck: `${check}\nvar outcome = sdk.outcome` }))
} else
  for (const [name, [size, limit]] of Object.entries(sizes)) {
    console.log(`${String(size).padStart(6)} of ${limit} bytes  ${name}`)
    if (size > limit) process.exitCode = 1
  }
