import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

const biome = new URL('../../node_modules/.bin/biome', import.meta.url).pathname

const format = (name: string, input: string) =>
  name.endsWith('.ts')
    ? execFileSync(biome, ['format', `--stdin-file-path=${name}`], { input, encoding: 'utf8' })
    : input

/** Writes files of this package; with `--check` on the command line it only says which are stale, and fails. */
export const generated = (files: Record<string, string>): void => {
  for (const [name, source] of Object.entries(files)) {
    const text = format(name, source)
    const file = new URL(`../${name}`, import.meta.url)
    if (existsSync(file) && readFileSync(file, 'utf8') === text) continue
    if (process.argv.includes('--check')) {
      console.error(`sdk/${name} is stale: run \`pnpm run generate\`.`)
      process.exitCode = 1
    } else writeFileSync(file, text)
  }
}
