// Prints what the package costs a bundle, minified and gzipped, and fails above what is allowed.
import { bundle, gzipped } from './bundle.ts'

const entries: [name: string, source: string, allowed: number][] = [
  ['everything', `export * from '../src/index.ts'`, 8_000],
  ['createReferralClient', `export { createReferralClient } from '../src/index.ts'`, 8_000],
  ...['affiliates', 'payouts', 'events', 'analytics'].map((resource): [string, string, number] => [
    `one resource: ${resource}`,
    `export { createCore, ${resource} } from '../src/index.ts'`,
    4_500,
  ]),
  ['isKnownEvent', `export { isKnownEvent } from '../src/index.ts'`, 500],
]

const sizes: Record<string, number> = {}
for (const [name, source, allowed] of entries) {
  const size = gzipped(await bundle(source))
  sizes[name] = size
  if (size > allowed) process.exitCode = 1
  if (!process.argv.includes('--json')) console.log(`${String(size).padStart(6)} of ${allowed} bytes  ${name}`)
}
if (process.argv.includes('--json')) console.log(JSON.stringify(sizes))
