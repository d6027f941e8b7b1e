import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')

/** Builds and packs the package in a scratch directory, apart from the checkout's dist. Returns the path of the tarball. */
export const pack = (scratch: string): string => {
  const copy = join(scratch, 'package')
  mkdirSync(copy)
  execFileSync(process.execPath, [join(root, 'scripts/build.ts'), join(copy, 'dist')], { stdio: 'inherit' })
  for (const name of ['package.json', 'README.md', 'vectors.json'])
    cpSync(join(root, name), join(copy, name), { recursive: true })
  cpSync(join(root, '../LICENSE'), join(copy, 'LICENSE'))
  const pnpm = ['-y', 'pnpm@12', 'pack', '--config.ignore-scripts=true', '--pack-destination', scratch]
  execFileSync('npx', pnpm, { cwd: copy, stdio: 'pipe' })
  return join(scratch, readdirSync(scratch).find((name) => name.endsWith('.tgz'))!)
}
