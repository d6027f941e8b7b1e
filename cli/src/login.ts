import { askHidden, askLine, readStdin } from './ask.ts'
import { makeClient } from './client.ts'
import { CliError, exit, usage } from './exit.ts'
import { checkProfileName, type Profile, profilesFile, readProfiles, writeProfiles } from './profiles.ts'
import type { Run } from './run.ts'
import { dataOf } from './unwrap.ts'
import { isInteractive } from './world.ts'

export interface LoginOptions {
  baseUrl?: string
}

const DEFAULT_URL = 'http://127.0.0.1:8787'

/** Reads secrets without showing them, checks them against their service, and keeps them. */
export async function login(run: Run, options: LoginOptions): Promise<undefined> {
  const { env } = run.world
  const all = readProfiles(env)
  const name = checkProfileName(run.globals.profile ?? env.REFERRAL_PROFILE ?? all.current)
  const known = Object.hasOwn(all.profiles, name) ? all.profiles[name] : undefined
  const baseUrl = readUrl(run, options.baseUrl ?? (await askUrl(run, env.REFERRAL_BASE_URL ?? known?.baseUrl)))
  const given = await readSecrets(run)
  await check(run, { baseUrl, ...given })
  // A secret that is not given now stays, unless it was for another service.
  const profile = { ...(known?.baseUrl === baseUrl ? known : {}), baseUrl, ...given }
  if (!run.dryRun) {
    // The first profile is the current one.
    const current = Object.keys(all.profiles).length ? all.current : name
    writeProfiles(env, { current, profiles: { ...all.profiles, [name]: profile } })
    if (current !== name) run.talk.note(`The current profile is still ${current}: referral profiles use ${name}`)
  }
  if (env.REFERRAL_API_KEY) run.talk.warn('REFERRAL_API_KEY is set and is used instead of profiles.')
  run.record({
    profile: name,
    baseUrl,
    apiKey: Boolean(profile.apiKey),
    ownerToken: Boolean(profile.ownerToken),
    storedIn: profilesFile(env),
    dryRun: run.dryRun,
  })
}

async function askUrl({ world }: Run, usual = DEFAULT_URL): Promise<string> {
  if (!isInteractive(world)) return usual
  return (await askLine(world, `Address of the service [${usual}]: `)).trim() || usual
}

function readUrl(run: Run, text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw usage(`${text} is no address like https://referrals.example.com.`)
  const url = new URL(text)
  if (url.username || url.search || url.hash) throw usage('The address must be without user, query and fragment.')
  if (url.protocol === 'http:' && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname))
    run.talk.warn(`${url.origin} is not encrypted: whoever is on the way can read the key.`)
  return url.href.replace(/(\/api\/v1)?\/*$/, '')
}

async function readSecrets({ world }: Run): Promise<Pick<Profile, 'apiKey' | 'ownerToken'>> {
  const text = isInteractive(world)
    ? await askHidden(world, 'API key (rk_…) or owner token (ro_…), hidden: ')
    : (await readStdin(world)).toString('utf8')
  const found: Pick<Profile, 'apiKey' | 'ownerToken'> = {}
  for (const word of text.split(/\s+/).filter(Boolean)) {
    if (/^rk_[0-9A-Za-z]{20,}$/.test(word)) found.apiKey = word
    else if (/^ro_[0-9A-Za-z]{20,}$/.test(word)) found.ownerToken = word
    // The text itself is not repeated: it may be a secret with a typing error.
    else throw usage('A key starts with rk_ and an owner token with ro_; this is neither.')
  }
  if (!found.apiKey && !found.ownerToken)
    throw new CliError(exit.auth, 'No secret was given.', {
      code: 'secret_missing',
      hint: 'Pipe it in: referral login --base-url … < key.txt',
    })
  return found
}

/** A secret that its service does not know is not stored. A scope or a plan that lacks is no reason against storing. */
async function check(run: Run, { baseUrl, apiKey, ownerToken }: Profile): Promise<void> {
  const settings = { source: 'profile', where: '', profile: null, baseUrl, apiKey, ownerToken } as const
  if (apiKey) {
    const client = await makeClient(apiKey, settings, run)
    const { error } = await client.affiliates.list({ limit: 1 }).safe()
    if (error?.code === 'plan_required') run.talk.warn(error.message)
    else if (error && error.code !== 'scope_missing') throw error
  }
  if (ownerToken) dataOf(await (await makeClient(ownerToken, settings, run)).GET('/admin/v1/session'))
}
