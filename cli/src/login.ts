import { promptLine, promptSecret, readStdin } from './ask.ts'
import { createClient } from './client.ts'
import { CliError, exitCode, usageError } from './exit.ts'
import { checkProfileName, type Profile, profilesFile, readProfiles, writeProfiles } from './profiles.ts'
import type { Run } from './run.ts'
import { unwrap } from './unwrap.ts'
import { isInteractive } from './world.ts'

export interface LoginOptions {
  baseUrl?: string
}

const DEFAULT_URL = 'http://127.0.0.1:8787'

/** Reads secrets without showing them, checks them against their service, and keeps them. */
export async function login(run: Run, options: LoginOptions): Promise<undefined> {
  const { env } = run.context
  const stored = readProfiles(env)
  const name = checkProfileName(run.globalOptions.profile ?? env.REFERRAL_PROFILE ?? stored.current)
  const existing = Object.hasOwn(stored.profiles, name) ? stored.profiles[name] : undefined
  const baseUrl = parseBaseUrl(
    run,
    options.baseUrl ?? (await promptBaseUrl(run, env.REFERRAL_BASE_URL ?? existing?.baseUrl)),
  )
  const given = await readSecrets(run)
  await verifyCredentials(run, { baseUrl, ...given })
  // A secret that is not given now stays, unless it was for another service.
  const profile = { ...(existing?.baseUrl === baseUrl ? existing : {}), baseUrl, ...given }
  if (!run.dryRun) {
    // The first profile is the current one.
    const current = Object.keys(stored.profiles).length ? stored.current : name
    writeProfiles(env, { current, profiles: { ...stored.profiles, [name]: profile } })
    if (current !== name) run.reporter.info(`The current profile is still ${current}: referral profiles use ${name}`)
  }
  if (env.REFERRAL_API_KEY) run.reporter.warn('REFERRAL_API_KEY is set and is used instead of profiles.')
  run.printRecord({
    profile: name,
    baseUrl,
    apiKey: Boolean(profile.apiKey),
    ownerToken: Boolean(profile.ownerToken),
    storedIn: profilesFile(env),
    dryRun: run.dryRun,
  })
}

async function promptBaseUrl({ context }: Run, usual = DEFAULT_URL): Promise<string> {
  if (!isInteractive(context)) return usual
  return (await promptLine(context, `Address of the service [${usual}]: `)).trim() || usual
}

function parseBaseUrl(run: Run, text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw usageError(`${text} is no address like https://referrals.example.com.`)
  const url = new URL(text)
  if (url.username || url.search || url.hash) throw usageError('The address must be without user, query and fragment.')
  if (url.protocol === 'http:' && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname))
    run.reporter.warn(`${url.origin} is not encrypted: whoever is on the way can read the key.`)
  return url.href.replace(/(\/api\/v1)?\/*$/, '')
}

async function readSecrets({ context }: Run): Promise<Pick<Profile, 'apiKey' | 'ownerToken'>> {
  const text = isInteractive(context)
    ? await promptSecret(context, 'API key (rk_…) or owner token (ro_…), hidden: ')
    : (await readStdin(context)).toString('utf8')
  const found: Pick<Profile, 'apiKey' | 'ownerToken'> = {}
  for (const word of text.split(/\s+/).filter(Boolean)) {
    if (/^rk_[0-9A-Za-z]{20,}$/.test(word)) found.apiKey = word
    else if (/^ro_[0-9A-Za-z]{20,}$/.test(word)) found.ownerToken = word
    // The text itself is not repeated: it may be a secret with a typing error.
    else throw usageError('A key starts with rk_ and an owner token with ro_; this is neither.')
  }
  if (!found.apiKey && !found.ownerToken)
    throw new CliError(exitCode.auth, 'No secret was given.', {
      code: 'secret_missing',
      hint: 'Pipe it in: referral login --base-url … < key.txt',
    })
  return found
}

/** A secret that its service does not know is not stored. A scope or a plan that lacks is no reason against storing. */
async function verifyCredentials(run: Run, { baseUrl, apiKey, ownerToken }: Profile): Promise<void> {
  const settings = { source: 'profile', location: '', profile: null, baseUrl, apiKey, ownerToken } as const
  if (apiKey) {
    const client = await createClient(apiKey, settings, run)
    const { error } = await client.affiliates.list({ limit: 1 }).safe()
    if (error?.code === 'plan_required') run.reporter.warn(error.message)
    else if (error && error.code !== 'scope_missing') throw error
  }
  if (ownerToken) unwrap(await (await createClient(ownerToken, settings, run)).GET('/admin/v1/session'))
}
