import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { NpmUser } from './npm-user.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** The published packages, in the order of their tarballs. */
export const PACKAGES = ['cli', 'conformance', 'sdk', 'server', 'webhook-verifier'] as const

/** The folder of a published package. */
export const folderOf = (name: string): string => (name === 'conformance' ? 'test/conformance' : name)

/** Builds and packs the packages as a release does. Returns the paths of the tarballs, in the order of {@link PACKAGES}. */
export async function pack(path: string): Promise<string[]> {
  const folder = mkdtempSync(join(path, 'tarballs-'))
  await promisify(execFile)('npx', ['-y', 'pnpm@12', 'run', 'release:pack', folder], { cwd: ROOT })
  return readdirSync(folder)
    .sort()
    .map((file) => join(folder, file))
}

/** Publishes tarballs to the registry of a user. */
export async function publish(user: NpmUser, tarballs: string[]): Promise<void> {
  await Promise.all(tarballs.map((tarball) => user.run(['npm', 'publish', tarball], { folder: user.path })))
}
