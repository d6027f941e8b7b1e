import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Environment } from './context.ts'
import { CliError, exitCode, usageError } from './errors.ts'

/** A service and its credentials, all from one source: a key is only ever sent to the address it was stored with. */
export interface Settings {
  source: 'environment' | 'profile' | 'demo'
  /** The settings' source, for display. */
  location: string
  profile: string | null
  baseUrl: string
  apiKey: string | undefined
  ownerToken: string | undefined
}

/** A service and its stored credentials. */
export interface Profile {
  baseUrl: string
  apiKey?: string
  ownerToken?: string
}

/** The content of profiles.json. */
export interface Profiles {
  current: string
  profiles: Record<string, Profile>
}

export const DEFAULT_URL = 'http://127.0.0.1:8787'
/** The demo shop's folder: the root of a checkout, which runs TypeScript, or the current folder. */
const ROOT = import.meta.filename.endsWith('.ts') ? resolve(import.meta.dirname, '../..') : process.cwd()

/** Reads --profile, then the environment, then the current profile, then the demo shop. */
export function findSettings(env: Environment, profile: string | undefined): Settings | undefined {
  if (profile) return fromProfile(env, profile)
  if (env.REFERRAL_API_KEY || env.REFERRAL_OWNER_TOKEN || env.REFERRAL_BASE_URL) return fromEnvironment(env)
  const { current, profiles } = readProfiles(env)
  const name = env.REFERRAL_PROFILE || current
  if (env.REFERRAL_PROFILE || Object.hasOwn(profiles, name)) return fromProfile(env, name)
  return fromDemo(env)
}

export function requireSettings(env: Environment, profile: string | undefined): Settings {
  const settings = findSettings(env, profile)
  if (settings) return settings
  throw new CliError(exitCode.auth, 'You are not logged in.', {
    code: 'not_logged_in',
    hint: 'Run `referral login`, or set REFERRAL_BASE_URL and REFERRAL_API_KEY.',
  })
}

function fromProfile(env: Environment, name: string): Settings {
  const { profiles } = readProfiles(env)
  const profile = Object.hasOwn(profiles, checkProfileName(name)) ? profiles[name] : undefined
  if (!profile)
    throw new CliError(exitCode.auth, `Profile ${name} does not exist.`, {
      code: 'profile_unknown',
      hint: `Run \`referral login --profile ${name}\`.`,
    })
  const { baseUrl, apiKey, ownerToken } = profile
  return { source: 'profile', location: profilesFile(env), profile: name, baseUrl, apiKey, ownerToken }
}

const fromEnvironment = (env: Environment): Settings => ({
  source: 'environment',
  location: 'the environment',
  profile: null,
  baseUrl: parseBaseUrl(env.REFERRAL_BASE_URL || DEFAULT_URL),
  apiKey: env.REFERRAL_API_KEY || undefined,
  ownerToken: env.REFERRAL_OWNER_TOKEN || undefined,
})

/** Removes a trailing slash and /api/v1. Keys are only sent over http or https. */
function parseBaseUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw usageError('REFERRAL_BASE_URL must be an http or https URL, such as https://referrals.example.com.')
  return text.replace(/(\/api\/v1)?\/*$/, '')
}

/** Reads the demo.env that the server writes on its first start. */
function fromDemo(env: Environment): Settings | undefined {
  const file = join(resolve(ROOT, env.REFERRAL_DATA_DIR || '.referral'), 'demo.env')
  if (!existsSync(file)) return undefined
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
  const demo = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]))
  return { ...fromEnvironment(demo), source: 'demo', location: file }
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
    const reason = cause instanceof SyntaxError ? 'it is not valid JSON' : (cause as Error).message
    throw new CliError(exitCode.unexpected, `Cannot read ${file}: ${reason}.`, {
      code: 'profiles_unreadable',
      hint: 'Remove it and log in again.',
    })
  }
}

/** Writes a temporary file and renames it, so that others can never read the secrets. */
export function writeProfiles(env: Environment, profiles: Profiles): void {
  const file = profilesFile(env)
  mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 })
  const temporary = `${file}.${process.pid}`
  writeFileSync(temporary, `${JSON.stringify(profiles, undefined, 2)}\n`, { mode: 0o600 })
  chmodSync(temporary, 0o600)
  renameSync(temporary, file)
}

/** Whether other users of this machine can read the file. */
export const isReadableByOthers = (file: string): boolean =>
  process.platform !== 'win32' && existsSync(file) && (statSync(file).mode & 0o077) !== 0

export function checkProfileName(name: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name) || name === '__proto__')
    throw usageError(
      'A profile name must start with a letter or digit and contain only letters, digits, dots, dashes and underscores.',
    )
  return name
}
