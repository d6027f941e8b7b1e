// Prints the size of bundles, minified and gzipped, and fails above the limit.
// With --json also prints the smoke test, bundled for a runtime with Web APIs only.
import { bundle, gzipped } from './bundle.ts'

const one = (resource: string): [name: string, source: string, limit: number] => [
  `one resource: ${resource}`,
  `export { createCore, ${resource} } from '../src/index.ts'`,
  4_500,
]

const entries = [
  ['everything', `export * from '../src/index.ts'`, 8_500],
  ['createReferralClient', `export { createReferralClient } from '../src/index.ts'`, 8_500],
  ...['affiliates', 'payouts', 'events', 'analytics'].map(one),
  ['isKnownEvent', `export { isKnownEvent } from '../src/index.ts'`, 500],
] as const

const sizes: Record<string, [size: number, limit: number]> = {}
for (const [name, source, limit] of entries) sizes[name] = [gzipped(await bundle(source)), limit]

if (process.argv.includes('--json')) {
  const check = await bundle(`export * from './smoke/smoke-browser.mjs'`, 'iife')
  console.log(JSON.stringify({ sizes, selfCheck: `${check}\nvar outcome = sdk.outcome` }))
} else
  for (const [name, [size, limit]] of Object.entries(sizes)) {
    console.log(`${String(size).padStart(6)} of ${limit} bytes  ${name}`)
    if (size > limit) process.exitCode = 1
  }
