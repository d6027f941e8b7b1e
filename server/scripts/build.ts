// Builds the published files into dist, or into the directory given: JavaScript with source maps, the assets that it
// reads at run time, and the declarations of the testing entry point.
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeBin } from '../../scripts/write-bin.ts'
import { readRedoc, redocLicenses } from '../src/http/redoc.ts'

const root = join(import.meta.dirname, '..')
const compiled = join(root, '.tsc')
const out = resolve(process.argv[2] ?? join(root, 'dist'))

const copy = (from: string, to: string) => {
  mkdirSync(dirname(join(out, to)), { recursive: true })
  cpSync(from, join(out, to), { recursive: true })
}

rmSync(out, { recursive: true, force: true })
execFileSync(join(root, '../node_modules/.bin/tsc'), ['-b', root], { stdio: 'inherit' })
for (const file of globSync('**/*.ts', { cwd: join(root, 'src'), exclude: ['**/*.d.ts'] })) {
  const js = file.replace(/ts$/, 'js')
  for (const name of [js, `${js}.map`]) copy(join(compiled, name), name)
}

// Declarations that the entry point does not import are internal.
const copyDeclaration = (file: string) => {
  // The compiler rewrites `./x.ts` in JavaScript but not in declarations, where older compilers cannot resolve it.
  const text = readFileSync(join(compiled, file), 'utf8').replace(/^\/\/# sourceMappingURL=.*\n?/m, '')
  writeFileSync(join(out, file), text.replaceAll(/(from '\.[^']+)\.ts'/g, "$1.js'"))
  for (const [, path] of text.matchAll(/'(\.[^']+?)\.ts'/g)) copyDeclaration(join(dirname(file), `${path}.d.ts`))
}
copyDeclaration('testing/server.d.ts')

for (const name of ['openapi.yaml', 'referral.arazzo.yaml']) copy(join(root, '..', name), name)
copy(join(root, 'src/contract/document.json'), 'contract/document.json')
copy(join(root, 'src/dashboard/assets'), 'dashboard/assets')
mkdirSync(join(out, 'http/redoc'))
writeFileSync(join(out, 'http/redoc/redoc.js'), readRedoc())
// With a file of the name LICENSE in a folder, pnpm leaves out the license of the package.
for (const license of redocLicenses()) copy(fileURLToPath(license), `http/redoc/redoc-${basename(license.pathname)}`)
writeBin(root, out)
