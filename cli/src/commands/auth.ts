import type { Command } from 'commander'
import { createClient, requireCredential } from '../client.ts'
import { defineCommand, defineGroup } from '../command.ts'
import { isInteractive } from '../context.ts'
import { CliError, exitCode, notFoundError, unwrap, usageError } from '../errors.ts'
import { promptLine, promptSecret, readStdin } from '../prompt.ts'
import type { Run } from '../run.ts'
import {
  checkProfileName,
  DEFAULT_URL,
  isReadableByOthers,
  type Profile,
  profilesFile,
  readProfiles,
  requireSettings,
  type Settings,
  writeProfiles,
} from '../settings.ts'

export function addAuth(program: Command): void {
  defineCommand<LoginOptions>(program, 'login', {
    summary: 'store an API key or an owner token',
    details:
      'Prompts for the secret without echoing it; without a terminal, reads standard input with one secret per line. A key starts with rk_, an owner token with ro_. The secret is verified, then stored in a file that only you can read. Secrets are never read from arguments.',
    output: 'Login',
    writes: true,
    examples: ['referral login --base-url https://referrals.example.com', 'referral login --profile shop < key.txt'],
    action: async (run, { options }) => login(run, options),
  }).option('--base-url <url>', 'URL of the service')

  defineCommand(program, 'logout', {
    summary: 'delete a profile and its secrets',
    output: 'Logout',
    writes: true,
    action: async (run) => logout(run),
  })

  defineCommand<{ offline?: boolean }>(program, 'whoami', {
    summary: 'show the service, the key and where it is stored',
    output: 'Identity',
    examples: ['referral whoami', 'referral whoami --offline --json'],
    action: (run, { options }) => whoami(run, options),
  }).option('--offline', 'do not contact the service')
  addProfiles(program)
}

function addProfiles(program: Command): void {
  const profiles = defineGroup(program, 'profiles', 'manage the services you are logged in to')
  defineCommand(profiles, 'list', {
    summary: 'list profiles',
    output: 'Profile[]',
    action: async (run) => {
      const { current, profiles: all } = readProfiles(run.context.env)
      const rows = Object.entries(all).map(([name, { baseUrl, apiKey, ownerToken }]) => ({
        name,
        current: name === current,
        baseUrl,
        apiKey: prefixOf(apiKey),
        ownerToken: prefixOf(ownerToken),
      }))
      run.printRows(rows, ['name', 'current', 'baseUrl', 'apiKey', 'ownerToken'])
      return undefined
    },
  })
  defineCommand(profiles, 'use <name>', {
    summary: 'make a profile the current one',
    output: 'Profile',
    writes: true,
    action: async (run, { args: [name = ''] }) => useProfile(run, checkProfileName(name)),
  })
}

/** The prefix that the service also displays. */
const prefixOf = (secret: string | undefined) => (secret ? `${secret.slice(0, 10)}…` : null)

function useProfile(run: Run, name: string): undefined {
  const all = readProfiles(run.context.env)
  const profile = Object.hasOwn(all.profiles, name) ? all.profiles[name] : undefined
  if (!profile) throw notFoundError(`Profile ${name} does not exist.`, 'Run `referral profiles list`.')
  if (!run.dryRun) writeProfiles(run.context.env, { ...all, current: name })
  const { baseUrl, apiKey, ownerToken } = profile
  run.printRecord({
    name,
    current: !run.dryRun || name === all.current,
    baseUrl,
    apiKey: prefixOf(apiKey),
    ownerToken: prefixOf(ownerToken),
  })
}

function logout(run: Run): undefined {
  const { env } = run.context
  const all = readProfiles(env)
  const name = run.globalOptions.profile ?? env.REFERRAL_PROFILE ?? all.current
  const { [name]: gone, ...rest } = all.profiles
  if (gone && !run.dryRun) {
    const current = name === all.current ? (Object.keys(rest)[0] ?? 'default') : all.current
    writeProfiles(env, { current, profiles: rest })
  }
  if (!gone) run.reporter.info(`Profile ${name} does not exist; nothing was changed.`)
  if (env.REFERRAL_API_KEY) run.reporter.warn('REFERRAL_API_KEY is still set and takes precedence over profiles.')
  run.printRecord({ profile: name, changed: Boolean(gone) && !run.dryRun })
}

async function whoami(run: Run, { offline }: { offline?: boolean }): Promise<undefined> {
  const settings = requireSettings(run.context.env, run.globalOptions.profile)
  if (settings.source !== 'environment' && isReadableByOthers(settings.location))
    run.reporter.warn(`Other users of this machine can read ${settings.location}. Run chmod 600 on it.`)
  if (!settings.apiKey && !settings.ownerToken) requireCredential(settings, 'apiKey')
  const valid = offline || !settings.apiKey ? null : await isKeyValid(run, settings)
  const owner = offline || !settings.ownerToken ? undefined : await readOwner(run)
  const shopOfKey = valid ? await readShopOfKey(run) : undefined
  const shop = owner?.shop ?? shopOfKey
  const { source, location: where, profile, baseUrl, apiKey, ownerToken } = settings
  run.printRecord({
    baseUrl,
    apiKey: prefixOf(apiKey),
    valid,
    ownerToken: prefixOf(ownerToken),
    user: owner ? `${owner.user.email} (${owner.user.role})` : null,
    shop: shop ? `${shop.name} (${shop.plan})` : null,
    isTest: shopOfKey?.isTest ?? null,
    source,
    storedIn: where,
    profile,
  })
}

async function readOwner(run: Run) {
  return unwrap(await (await run.ownerClient()).GET('/admin/v1/session')).data
}

/** The key's shop. Earlier versions of the service cannot return it. */
async function readShopOfKey(run: Run) {
  const { data } = await (await run.client()).shop.get().safe()
  return data
}

/** A key without this request's scope is still valid. */
async function isKeyValid(run: Run, { location: where }: Settings): Promise<true> {
  const { error } = await (await run.client()).affiliates.list({ limit: 1 }).safe()
  if (!error || error.code === 'scope_missing') return true
  const { status } = error as { status?: number }
  if (status !== 401 && status !== 403) throw error
  throw new CliError(exitCode.auth, `${error.message} The key comes from ${where}.`, {
    status,
    code: error.code ?? 'key_unknown',
    requestId: error.requestId ?? null,
  })
}

export interface LoginOptions {
  baseUrl?: string
}

/** Reads secrets without echoing them, verifies them against the service, and stores them. */
export async function login(run: Run, options: LoginOptions): Promise<undefined> {
  const { env } = run.context
  const stored = readProfiles(env)
  const name = checkProfileName(run.globalOptions.profile ?? env.REFERRAL_PROFILE ?? stored.current)
  const existing = Object.hasOwn(stored.profiles, name) ? stored.profiles[name] : undefined
  const baseUrl = parseBaseUrl(
    run,
    options.baseUrl ?? (await promptBaseUrl(run, env.REFERRAL_BASE_URL ?? existing?.baseUrl)),
  )
  const secrets = await readSecrets(run)
  await verifyCredentials(run, { baseUrl, ...secrets })
  // A secret stored earlier is kept, unless it belongs to another service.
  const profile = { ...(existing?.baseUrl === baseUrl ? existing : {}), baseUrl, ...secrets }
  if (!run.dryRun) {
    // The first profile becomes the current one.
    const current = Object.keys(stored.profiles).length ? stored.current : name
    writeProfiles(env, { current, profiles: { ...stored.profiles, [name]: profile } })
    if (current !== name)
      run.reporter.info(`The current profile is still ${current}. To switch: referral profiles use ${name}`)
  }
  if (env.REFERRAL_API_KEY) run.reporter.warn('REFERRAL_API_KEY is set and takes precedence over profiles.')
  run.printRecord({
    profile: name,
    baseUrl,
    apiKey: Boolean(profile.apiKey),
    ownerToken: Boolean(profile.ownerToken),
    storedIn: profilesFile(env),
    dryRun: run.dryRun,
  })
}

async function promptBaseUrl({ context }: Run, defaultUrl = DEFAULT_URL): Promise<string> {
  if (!isInteractive(context)) return defaultUrl
  return (await promptLine(context, `Service URL [${defaultUrl}]: `)).trim() || defaultUrl
}

function parseBaseUrl(run: Run, text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw usageError(`${text} is not a URL such as https://referrals.example.com.`)
  const url = new URL(text)
  if (url.username || url.search || url.hash)
    throw usageError('The URL must not contain a user, a query or a fragment.')
  if (url.protocol === 'http:' && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname))
    run.reporter.warn(`${url.origin} is not encrypted: the key can be read in transit. Use https.`)
  return url.href.replace(/(\/api\/v1)?\/*$/, '')
}

async function readSecrets({ context }: Run): Promise<Pick<Profile, 'apiKey' | 'ownerToken'>> {
  const text = isInteractive(context)
    ? await promptSecret(context, 'API key (rk_…) or owner token (ro_…), hidden: ')
    : (await readStdin(context)).toString('utf8')
  const secrets: Pick<Profile, 'apiKey' | 'ownerToken'> = {}
  for (const word of text.split(/\s+/).filter(Boolean)) {
    if (/^rk_(test_)?[0-9A-Za-z]{20,}$/.test(word)) secrets.apiKey = word
    else if (/^ro_[0-9A-Za-z]{20,}$/.test(word)) secrets.ownerToken = word
    // The message omits the text, which may be a mistyped secret.
    else throw usageError('This is neither a key (rk_…) nor an owner token (ro_…).')
  }
  if (!secrets.apiKey && !secrets.ownerToken)
    throw new CliError(exitCode.auth, 'No secret was entered.', {
      code: 'secret_missing',
      hint: 'Pipe it to standard input: referral login --base-url … < key.txt',
    })
  return secrets
}

/** Rejects a secret that the service does not know. A missing scope or plan is accepted. */
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
