import { renameSync, rmSync, writeFileSync } from 'node:fs'

/** Writes a file that only its owner can read (mode 0600), replacing an existing one atomically. */
export function writePrivateFile(file: string, text: string): void {
  const temporary = `${file}.new`
  rmSync(temporary, { force: true })
  writeFileSync(temporary, text, { mode: 0o600, flag: 'wx' })
  renameSync(temporary, file)
}
