// Full: it builds the CLI's package.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'

const BUILD = fileURLToPath(new URL('../../cli/scripts/build.ts', import.meta.url))

test('every file that a bundled command reads beside itself is in the package', () => {
  const folder = temporaryFolder()
  execFileSync(process.execPath, [BUILD, folder.path])
  const missing = readdirSync(folder.path, { encoding: 'utf8' })
    .filter((file) => file.endsWith('.js'))
    .flatMap((file) => {
      const text = readFileSync(join(folder.path, file), 'utf8')
      const read = [...text.matchAll(/new URL\("(\.\/[^"]+)", import\.meta\.url\)/g)].map(([, path = '']) => path)
      return read.filter((path) => !existsSync(join(folder.path, path))).map((path) => `${file}: ${path}`)
    })
  folder.remove()
  expect(missing).toEqual([])
}, 60_000)
