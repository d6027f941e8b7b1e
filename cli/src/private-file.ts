import { renameSync, rmSync, writeFileSync } from 'node:fs'

/**
 * Writes a file that only its owner can read, from the first byte on, also in place of one that others could read. It is
 * complete before it gets its name.
 */
export function writePrivateFile(file: string, text: string): void {
  const temporary = `${file}.new`
  rmSync(temporary, { force: true })
  writeFileSync(temporary, text, { mode: 0o600, flag: 'wx' })
  renameSync(temporary, file)
}
