import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Environment } from './environment.ts'
import { CliError, exitCode, usageError } from './exit.ts'
import { checkProfileName, profilesFile, readProfiles } from './profiles.ts'

/** A credential and the one service it is for. They come from one place: a key is never sent to another place's address. */
export interface Settings {
  source: 'environment' | 'profile' | 'demo'
  /** Where it was found, for people. */
  location: string
  profile: string | null
  baseUrl: string
  apiKey: string | undefined
  ownerToken: string | undefined
}

const DEFAULT_URL = 'http://127.0.0.1:8787'
const ROOT = resolve(import.meta.dirname, '../..')

/** --profile, else the environment, else the current profile, else the demo shop of this checkout. */
export function findSettings(env: Environment, wanted: string | undefined): Settings | undefined {
  if (wanted) return fromProfile(env, wanted)
  if (env.REFERRAL_API_KEY || env.REFERRAL_OWNER_TOKEN || env.REFERRAL_BASE_URL) return fromEnvironment(env)
  const name = env.REFERRAL_PROFILE || readProfiles(env).current
  const isThere = Object.hasOwn(readProfiles(env).profiles, name)
  if (env.REFERRAL_PROFILE || isThere) return fromProfile(env, name)
  return fromDemo(env)
}

export function requireSettings(env: Environment, wanted: string | undefined): Settings {
  const settings = findSettings(env, wanted)
  if (settings) return settings
  throw new CliError(exitCode.auth, 'You are not logged in.', {
    code: 'not_logged_in',
    hint: 'Run `referral login`, or set REFERRAL_BASE_URL and REFERRAL_API_KEY.',
  })
}

function fromProfile(env: Environment, name: string): Settings {
  const { profiles } = readProfiles(env)
  const found = Object.hasOwn(profiles, checkProfileName(name)) ? profiles[name] : undefined
  if (!found)
    throw new CliError(exitCode.auth, `There is no profile ${name}.`, {
      code: 'profile_unknown',
      hint: `Run \`referral login --profile ${name}\`.`,
    })
  const { baseUrl, apiKey, ownerToken } = found
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

/** The same address in every form it may be written; a key goes nowhere else than to http or https. */
function parseBaseUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw usageError(`REFERRAL_BASE_URL is no address like https://referrals.example.com.`)
  return text.replace(/(\/api\/v1)?\/*$/, '')
}

/** What the first start of the server wrote down; in an installed package there is no such file. */
function fromDemo(env: Environment): Settings | undefined {
  const file = join(resolve(ROOT, env.REFERRAL_DATA_DIR || '.referral'), 'demo.env')
  if (!existsSync(file)) return undefined
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
  const demo = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]))
  return { ...fromEnvironment(demo), source: 'demo', location: file }
}
