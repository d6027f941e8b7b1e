import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Environment } from './environment.ts'
import { CliError, exitCode, usageError } from './exit.ts'

/** One service and what opens it. */
export interface Profile {
  baseUrl: string
  apiKey?: string
  ownerToken?: string
}

/** What the file holds. */
export interface Profiles {
  current: string
  profiles: Record<string, Profile>
}

export function profilesFile(env: Environment): string {
  const home = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config')
  return join(env.REFERRAL_CONFIG_DIR || join(home, 'referral'), 'profiles.json')
}

export function readProfiles(env: Environment): Profiles {
  const file = profilesFile(env)
  if (!existsSync(file)) return { current: 'default', profiles: {} }
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Profiles
  } catch (cause) {
    const why = cause instanceof SyntaxError ? 'it is not JSON' : (cause as Error).message
    throw new CliError(exitCode.unexpected, `${file} cannot be read: ${why}.`, {
      code: 'profiles_unreadable',
      hint: 'Remove it and log in again.',
    })
  }
}

/** Written aside and moved, and never readable by others, not for a moment. */
export function writeProfiles(env: Environment, profiles: Profiles): void {
  const file = profilesFile(env)
  mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 })
  const temporary = `${file}.${process.pid}`
  writeFileSync(temporary, `${JSON.stringify(profiles, undefined, 2)}\n`, { mode: 0o600 })
  chmodSync(temporary, 0o600)
  renameSync(temporary, file)
}

/** Whether others on this machine may read the keys. */
export const isReadableByOthers = (file: string): boolean =>
  process.platform !== 'win32' && existsSync(file) && (statSync(file).mode & 0o077) !== 0

export function checkProfileName(name: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name) || name === '__proto__')
    throw usageError('A profile name is made of letters, digits, dots, dashes and underscores.')
  return name
}
