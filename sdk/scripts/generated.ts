import { existsSync, readFileSync, writeFileSync } from 'node:fs'

/** Writes files of this package; with `--check` on the command line it only says which are stale, and fails. */
export const generated = (files: Record<string, string>): void => {
  for (const [name, text] of Object.entries(files)) {
    const file = new URL(`../${name}`, import.meta.url)
    if (existsSync(file) && readFileSync(file, 'utf8') === text) continue
    if (process.argv.includes('--check')) {
      console.error(`sdk/${name} is stale: run \`pnpm run generate\`.`)
      process.exitCode = 1
    } else writeFileSync(file, text)
  }
}
