// Builds the published files into dist, or into the directory given: ES modules, and CommonJS in cjs/.
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = join(import.meta.dirname, '..')
const out = resolve(process.argv[2] ?? join(root, 'dist'))

const tsc = (project: string, ...args: string[]) =>
  execFileSync(join(root, '../node_modules/.bin/tsc'), ['-p', project, ...args], { cwd: root, stdio: 'inherit' })

rmSync(out, { recursive: true, force: true })
tsc('tsconfig.json', '--composite', 'false', '--tsBuildInfoFile', 'null', '--outDir', out)
tsc('tsconfig.cjs.json', '--outDir', join(out, 'cjs'))
writeFileSync(join(out, 'cjs/package.json'), '{ "type": "commonjs" }\n')

// The compiler rewrites `./x.ts` in JavaScript but not in declarations, where older compilers cannot resolve it.
for (const file of globSync('**/*.d.ts', { cwd: out })) {
  const path = join(out, file)
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/(from '\.\/[^']+)\.ts'/g, "$1.js'"))
}
