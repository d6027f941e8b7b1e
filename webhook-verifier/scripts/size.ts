// Prints the size of each entry point, minified and gzipped, compared with other verifiers. With --json for the tests.
import { bundle, gzipped } from './bundle.ts'

const entries = {
  'core: sign, verify, unwrap, WebhookError': `export { sign, verify, unwrap, WebhookError } from '../src/index.ts'`,
  'the whole entry': `export * from '../src/index.ts'`,
  'verify alone': `export { verify } from '../src/index.ts'`,
  '/hono': `export * from '../src/hono.ts'`,
  '/express': `export * from '../src/express.ts'`,
  '/fastify': `export * from '../src/fastify.ts'`,
  '/next': `export { webhook } from '../src/next.ts'`,
  '/node': `export * from '../src/node.ts'`,
  'standardwebhooks { Webhook }': `export { Webhook } from 'standardwebhooks'`,
  'svix { Webhook }': `export { Webhook } from 'svix'`,
  '@octokit/webhooks-methods { sign, verify }': `export { sign, verify } from '@octokit/webhooks-methods'`,
}

const sizes: Record<string, number> = {}
for (const [name, source] of Object.entries(entries)) sizes[name] = gzipped(await bundle(source))

if (process.argv.includes('--json')) {
  // The smoke test as one script, for runtimes with Web APIs only.
  const selfCheck = await bundle(
    `import { outcome } from './smoke/smoke-browser.mjs'; globalThis.outcome = outcome`,
    'iife',
  )
  console.log(JSON.stringify({ sizes, selfCheck }))
} else for (const [name, size] of Object.entries(sizes)) console.log(`${String(size).padStart(6)} bytes  ${name}`)
