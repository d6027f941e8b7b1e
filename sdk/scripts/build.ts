// Builds the published files into dist, or into the directory given: ES modules, and CommonJS in cjs/.
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { transformSync } from 'esbuild'

const root = join(import.meta.dirname, '..')
const out = resolve(process.argv[2] ?? join(root, 'dist'))

const tsc = (project: string, ...args: string[]) =>
  execFileSync(join(root, '../node_modules/.bin/tsc'), ['-p', project, ...args], { cwd: root, stdio: 'inherit' })

const rewrite = (file: string, change: (text: string) => string) =>
  writeFileSync(join(out, file), change(readFileSync(join(out, file), 'utf8')))

rmSync(out, { recursive: true, force: true })
const single = ['--composite', 'false', '--tsBuildInfoFile', 'null', '--outDir', out]
tsc('tsconfig.json', ...single)
const cjs = ['--outDir', join(out, 'cjs'), '--noCheck']
tsc('tsconfig.cjs.json', ...cjs)
// Only the declarations keep their comments.
const code = ['--declaration', 'false', '--removeComments', '--noCheck']
tsc('tsconfig.json', ...single, ...code)
tsc('tsconfig.cjs.json', ...cjs, ...code)
writeFileSync(join(out, 'cjs/package.json'), '{ "type": "commonjs" }\n')

// Published once: an ES module can import CommonJS, not the other way round.
const entries = ['index', 'msw', 'admin', 'otel', 'express', 'fastify', 'hono', 'next']
for (const file of globSync('**/*.d.ts', { cwd: out, exclude: ['cjs/**'] })) {
  const name = file.slice(0, -'.d.ts'.length)
  if (entries.includes(name)) continue
  const up = '../'.repeat(name.split('/').length - 1) || './'
  writeFileSync(join(out, file), `export * from '${up}cjs/${name}.js'\n`)
}
writeFileSync(join(out, 'generated/examples.js'), "export { examples } from '../cjs/generated/examples.js'\n")

// Shrinks the API's types: without error responses, which are all `Error`; without the headers of responses; without
// the parameters and methods that a path does not have; without the headers of webhooks, which their receiver reads; with the
// first sentence about a parameter; without indentation.
const responseHeaders = /^ +headers: \{[^{}]*\[name: string\]: unknown;\s*\};\n/gm
const errorResponses =
  /^( +)(?:\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n\1)?[45]\d\d: (?:\{\n[\s\S]*?^\1\};|components[^;]*;)\n/gm
const noParameters = /^ *parameters: \{\n(?: *(?:query|header|path|cookie)\?: never;\n){4} *\};\n/gm
const noMethods = /^ *(options|head|trace)\?: never;\n/gm
const webhookHeaders = /^( +)header\?: \{\n(?:(?!^\1\})[^\n]*\n)*?[^\n]*WebhookEventHeader[\s\S]*?^\1\};\n/gm
const laterSentences =
  /(@description (?:[^.`\n]|`[^`\n]*`|\.(?! ))*\.) [^\n]*(?= \*\/\n *\S+ (?:components\["parameters"\]|string))/g
const slimPaths = (text: string) => {
  const end = text.indexOf('\n}\n')
  const paths = text.slice(0, end).replaceAll(noParameters, '')
  // The descriptions of operations are in api.md and on the site; an editor does not show them.
  return paths.replaceAll(/^ *\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n/gm, '') + text.slice(end)
}
rewrite('cjs/schema.d.ts', (text) =>
  slimPaths(text)
    .replaceAll(/^( *)\* {2,}/gm, '$1* ')
    .replaceAll(responseHeaders, '')
    .replaceAll(errorResponses, '')
    .replaceAll(/^ +\/\*\* @description [^\n]*\*\/\n(?= +(?:2\d\d|"2XX"): )/gm, '')
    .replaceAll(/^ *(header|path|cookie|requestBody)\?: never;\n/gm, '')
    .replaceAll(noMethods, '')
    .replaceAll(webhookHeaders, '')
    .replaceAll(laterSentences, '$1')
    .replaceAll(/^ *\/\*\* @(?:enum \{string\}|constant) \*\/\n/gm, '')
    .replaceAll('@description ', '')
    .replaceAll(/^ +/gm, '')
    .replaceAll('components["schemas"]', 'Schemas')
    .concat('type Schemas = components["schemas"]\n'),
)

// Only the sources of ES modules are meant to be read.
for (const file of globSync('cjs/**/*.js', { cwd: out }))
  rewrite(file, (text) => transformSync(text, { minify: true, format: 'cjs', charset: 'utf8' }).code)

// The compiler rewrites `./x.ts` in JavaScript but not in declarations, where older compilers cannot resolve it.
for (const file of globSync('**/*.d.ts', { cwd: out }))
  rewrite(file, (text) => text.replaceAll(/(from '\.[^']+)\.ts'/g, "$1.js'"))

// The compiler indents with four spaces.
for (const file of globSync('**/*.{js,d.ts}', { cwd: out }))
  rewrite(file, (text) => text.replaceAll(/^(?: {4})+/gm, (indent) => '\t'.repeat(indent.length / 4)))

// Declarations that no entry point imports are internal.
const published = new Set<string>()
const publish = (file: string) => {
  if (published.has(file)) return
  published.add(file)
  const text = readFileSync(join(out, file), 'utf8')
  for (const [, path] of text.matchAll(/['"](\.[^'"]+)\.js['"]/g)) publish(join(dirname(file), `${path}.d.ts`))
}
for (const entry of entries) for (const folder of ['', 'cjs']) publish(join(folder, `${entry}.d.ts`))
for (const file of globSync('**/*.d.ts', { cwd: out })) if (!published.has(file)) rmSync(join(out, file))
