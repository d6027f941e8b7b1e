// Prints what the package costs a bundle, minified and gzipped, and fails above what is allowed.
// With --json also the self-check, bundled for a runtime that has Web APIs alone.
import { bundle, gzipped } from './bundle.ts'

const one = (resource: string): [name: string, source: string, allowed: number] => [
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

const sizes: Record<string, [size: number, allowed: number]> = {}
for (const [name, source, allowed] of entries) sizes[name] = [gzipped(await bundle(source)), allowed]

if (process.argv.includes('--json')) {
  const check = await bundle(`export * from './smoke/smoke-browser.mjs'`, 'iife')
  console.log(JSON.stringify({ sizes, selfCheck: `${check}\nvar outcome = sdk.outcome` }))
} else
  for (const [name, [size, allowed]] of Object.entries(sizes)) {
    console.log(`${String(size).padStart(6)} of ${allowed} bytes  ${name}`)
    if (size > allowed) process.exitCode = 1
  }
