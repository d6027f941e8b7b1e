// Builds what is published into dist, or into the directory given: ES modules, and CommonJS beside them in cjs/.
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

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
// Comments belong to the declarations alone.
const code = ['--declaration', 'false', '--removeComments', '--noCheck']
tsc('tsconfig.json', ...single, ...code)
tsc('tsconfig.cjs.json', ...cjs, ...code)
writeFileSync(join(out, 'cjs/package.json'), '{ "type": "commonjs" }\n')

// What is large is shipped once: a module may take it from CommonJS, not the other way round.
writeFileSync(join(out, 'schema.d.ts'), "export type * from './cjs/schema.js'\n")
writeFileSync(join(out, 'generated/examples.js'), "export { examples } from '../cjs/generated/examples.js'\n")

// The types of the whole API: successes only, for every refusal is an `Error`; without the headers that every answer
// repeats; without the parameters that a path does not have; with less indentation.
const repeated = /headers: \{[^{}]*\[name: string\]: unknown;\s*\};/g
const refusals = /^( +)(?:\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n\1)?[45]\d\d: (?:\{\n[\s\S]*?^\1\};|components[^;]*;)\n/gm
const noParameters = /^ *parameters: \{\n(?: *(?:query|header|path|cookie)\?: never;\n){4} *\};\n/gm
const slimPaths = (text: string) => {
  const end = text.indexOf('\n}\n')
  return text.slice(0, end).replaceAll(noParameters, '') + text.slice(end)
}
rewrite('cjs/schema.d.ts', (text) =>
  slimPaths(text)
    .replaceAll(/^( *)\* {2,}/gm, '$1* ')
    .replaceAll(repeated, 'headers: { [name: string]: unknown };')
    .replaceAll(refusals, '')
    .replaceAll(/^ +/gm, (indent) => ' '.repeat(indent.length / 4)),
)

// The compiler rewrites `./x.ts` in JavaScript but not in declarations, where older compilers do not follow it.
for (const file of globSync('**/*.d.ts', { cwd: out }))
  rewrite(file, (text) => text.replaceAll(/(from '\.[^']+)\.ts'/g, "$1.js'"))
