import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { NpmUser } from './npm-user.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** The folders of the published packages. */
export const PACKAGES = ['cli', 'sdk', 'server', 'webhook-verifier'] as const

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
