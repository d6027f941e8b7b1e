// Writes the API reference, rendered from openapi.yaml and samples by Redocly, into public/api. The page loads its script, styles and
// fonts from that folder only, and reports nothing to Redocly.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse, stringify } from 'yaml'
import { readRedoc, redocLicenses } from '../../server/src/http/redoc.ts'
import { samples } from './samples.ts'

const CDN_SCRIPT = /https:\/\/cdn\.redocly\.com\/[^"]+\/redoc\.standalone\.js/
const PRELOAD = /<link rel="modulepreload"[^>]*>/
const THEME_SCRIPT = /<script>(try\{[\s\S]*?)<\/script>/
const PAGE_SCRIPT = /<script type="module">([\s\S]*?)<\/script>/

const root = join(import.meta.dirname, '../..')
const out = join(root, 'docs/public/api')
const file = join(out, 'index.html')

rmSync(out, { recursive: true, force: true })
mkdirSync(out, { recursive: true })
const all = await samples()
const document = parse(readFileSync(join(root, 'openapi.yaml'), 'utf8'))
for (const operation of Object.values<object>(document.paths).flatMap((path) => Object.values(path))) {
  if (all.has(operation.operationId)) operation['x-codeSamples'] = all.get(operation.operationId)
  const errors = Object.entries<string[]>(operation['x-error-codes'] ?? {}).map(
    ([status, codes]) => `${status} ${codes.map((code) => `[\`${code}\`](../reference/errors#${code})`).join(', ')}`,
  )
  if (errors.length > 0) operation.description = `${operation.description ?? ''}\n\n**Errors:** ${errors.join('; ')}.`
}
const source = join(out, 'with-samples.yaml')
writeFileSync(source, stringify(document))
const cli = fileURLToPath(new URL('bin/cli.js', import.meta.resolve('@redocly/cli/package.json')))
const options = ['--openapi.disableTelemetry', '--title', 'API reference']
execFileSync(process.execPath, [cli, 'build-docs', source, '--output', file, ...options], {
  cwd: root,
  stdio: ['ignore', 'ignore', 'pipe'],
  env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
})
rmSync(source)

/** Moves a part of the page elsewhere. Throws when a new version of build-docs writes another page. */
function take(text: string, part: RegExp, instead: string): { rest: string; taken: string } {
  const found = part.exec(text)
  if (!found) throw new Error(`The output of build-docs does not contain ${part}.`)
  return { rest: text.replace(part, () => instead), taken: found[1] ?? '' }
}

const preload = take(
  readFileSync(file, 'utf8'),
  PRELOAD,
  '<link rel="icon" href="../icon.svg"><link rel="modulepreload" href="redoc.js">',
)
const theme = take(preload.rest, THEME_SCRIPT, '<script src="theme.js"></script>')
const script = take(theme.rest, PAGE_SCRIPT, '<script type="module" src="api.js"></script>')
writeFileSync(file, script.rest)
writeFileSync(join(out, 'theme.js'), theme.taken)
writeFileSync(join(out, 'api.js'), take(script.taken, CDN_SCRIPT, './redoc.js').rest)
writeFileSync(join(out, 'redoc.js'), readRedoc())
for (const license of redocLicenses()) cpSync(license, join(out, `${license.pathname.split('/').at(-1)}.txt`))
for (const name of ['openapi.yaml', 'referral.arazzo.yaml']) cpSync(join(root, name), join(out, name))
cpSync(join(root, 'server/src/contract/document.json'), join(out, 'openapi.json'))
