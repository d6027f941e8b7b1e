import { readdirSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('..', import.meta.url))

/**
 * Changes when files of the installation are replaced. A running process must not load modules of another version than its
 * own.
 */
export function installationState(): string {
  try {
    return readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
      .map((name) => {
        const { ino, mtimeMs, size } = statSync(`${FOLDER}/${name}`)
        return `${name} ${ino} ${mtimeMs} ${size}`
      })
      .sort()
      .join('\n')
  } catch {
    return 'being replaced'
  }
}
