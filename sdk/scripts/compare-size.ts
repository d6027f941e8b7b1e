// Prints the size of the SDK next to five others from the npm registry: one ES bundle, minified by esbuild, gzipped.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundle, gzipped } from './bundle.ts'

const OTHERS = {
  'stripe@23.1.0': `export { default } from 'stripe'`,
  'openai@6.49.0': `export { default } from 'openai'`,
  'octokit@5.0.5': `export { Octokit } from 'octokit'`,
  'resend@6.38.0': `export { Resend } from 'resend'`,
  'svix@1.99.1': `export { Svix } from 'svix'`,
}
const OWN = {
  '@referral/sdk': `export * from '../src/index.ts'`,
  '@referral/sdk, one resource': `export { createCore, affiliates } from '../src/index.ts'`,
  '@referral/sdk/admin alone': `export { createAdminClient } from '../src/admin.ts'`,
}

const folder = mkdtempSync(join(tmpdir(), 'compared-'))
try {
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  const install = ['install', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', ...Object.keys(OTHERS)]
  execFileSync('npm', install, { cwd: folder, stdio: 'pipe' })
  const print = (name: string, text: string) => console.log(`${String(gzipped(text)).padStart(6)} bytes  ${name}`)
  for (const [name, source] of Object.entries(OWN)) print(name, await bundle(source))
  for (const [name, source] of Object.entries(OTHERS)) {
    const [module] = name.split('@') as [string]
    const { version } = JSON.parse(readFileSync(join(folder, 'node_modules', module, 'package.json'), 'utf8'))
    print(`${module}@${version}`, await bundle(source, { folder, external: ['node:*'] }))
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
