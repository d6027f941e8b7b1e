// Builds the published files into dist, or into the directory given.
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { writeBin } from '../../../scripts/write-bin.ts'

const root = join(import.meta.dirname, '..')
const out = resolve(process.argv[2] ?? join(root, 'dist'))

rmSync(out, { recursive: true, force: true })
execFileSync(
  join(root, '../../node_modules/.bin/tsc'),
  [
    '-p',
    'tsconfig.json',
    '--composite',
    'false',
    '--tsBuildInfoFile',
    'null',
    '--declarationMap',
    'false',
    '--outDir',
    out,
  ],
  { cwd: root, stdio: 'inherit' },
)
// The compiler rewrites `./x.ts` in JavaScript but not in declarations, where older compilers cannot resolve it.
for (const file of globSync('**/*.d.ts', { cwd: out })) {
  const path = join(out, file)
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/(from '\.{1,2}\/[^']+)\.ts'/g, "$1.js'"))
}
writeBin(root, out)
