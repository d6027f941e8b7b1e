import { existsSync, readFileSync, writeFileSync } from 'node:fs'

/** Writes files of this package. With `--check` on the command line, reports the stale ones and fails instead. */
export const writeGenerated = (files: Record<string, string>): void => {
  for (const [name, text] of Object.entries(files)) {
    const file = new URL(`../${name}`, import.meta.url)
    if (existsSync(file) && readFileSync(file, 'utf8') === text) continue
    if (process.argv.includes('--check')) {
      console.error(`sdk/${name} is stale. Run \`pnpm run generate\`.`)
      process.exitCode = 1
    } else writeFileSync(file, text)
  }
}
