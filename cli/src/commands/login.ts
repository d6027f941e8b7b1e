import type { Command } from 'commander'
import { group, leaf } from '../command.ts'
import { CliError, exit, notFound } from '../exit.ts'
import type { LoginOptions } from '../login.ts'
import { checkProfileName, isExposed, readProfiles, writeProfiles } from '../profiles.ts'
import type { Run } from '../run.ts'
import { requireSettings, type Settings } from '../settings.ts'

export function addLogin(program: Command): void {
  leaf<LoginOptions>(program, 'login', {
    summary: 'store a key or an owner token for a service',
    details:
      'Asks for the secret without showing it; without a terminal it reads standard input, one secret a line. A key starts with rk_, an owner token with ro_. It is checked, then kept in a file that only you can read. A secret is never taken from an argument.',
    output: 'Login',
    writes: true,
    examples: ['referral login --base-url https://referrals.example.com', 'referral login --profile shop < key.txt'],
    work: async (run, { options }) => (await import('../login.ts')).login(run, options),
  }).option('--base-url <url>', 'where the service runs')

  leaf(program, 'logout', {
    summary: 'forget the secrets of a profile',
    output: 'Logout',
    writes: true,
    work: async (run) => logout(run),
  })

  leaf<{ offline?: boolean }>(program, 'whoami', {
    summary: 'which service, which key, and where it is stored',
    output: 'Identity',
    examples: ['referral whoami', 'referral whoami --offline --json'],
    work: (run, { options }) => whoami(run, options),
  }).option('--offline', 'do not ask the service')
  addProfiles(program)
}

function addProfiles(program: Command): void {
  const profiles = group(program, 'profiles', 'services you are logged in to')
  leaf(profiles, 'list', {
    summary: 'list profiles',
    output: 'Profile[]',
    work: async (run) => {
      const { current, profiles: all } = readProfiles(run.world.env)
      const rows = Object.entries(all).map(([name, { baseUrl, apiKey, ownerToken }]) => ({
        name,
        current: name === current,
        baseUrl,
        apiKey: prefixOf(apiKey),
        ownerToken: prefixOf(ownerToken),
      }))
      run.rows(rows, ['name', 'current', 'baseUrl', 'apiKey', 'ownerToken'])
      return undefined
    },
  })
  leaf(profiles, 'use <name>', {
    summary: 'make a profile the current one',
    output: 'Profile',
    writes: true,
    work: async (run, { args: [name = ''] }) => use(run, checkProfileName(name)),
  })
}

/** Enough to tell keys apart, as the service itself shows them. */
const prefixOf = (secret: string | undefined) => (secret ? `${secret.slice(0, 10)}…` : null)

function use(run: Run, name: string): undefined {
  const all = readProfiles(run.world.env)
  const found = Object.hasOwn(all.profiles, name) ? all.profiles[name] : undefined
  if (!found) throw notFound(`There is no profile ${name}.`, 'See `referral profiles list`.')
  if (!run.dryRun) writeProfiles(run.world.env, { ...all, current: name })
  const { baseUrl, apiKey, ownerToken } = found
  run.record({
    name,
    current: !run.dryRun || name === all.current,
    baseUrl,
    apiKey: prefixOf(apiKey),
    ownerToken: prefixOf(ownerToken),
  })
}

function logout(run: Run): undefined {
  const { env } = run.world
  const all = readProfiles(env)
  const name = run.globals.profile ?? env.REFERRAL_PROFILE ?? all.current
  const { [name]: gone, ...rest } = all.profiles
  if (gone && !run.dryRun) {
    const current = name === all.current ? (Object.keys(rest)[0] ?? 'default') : all.current
    writeProfiles(env, { current, profiles: rest })
  }
  if (!gone) run.talk.note(`There is no profile ${name}; nothing was changed.`)
  if (env.REFERRAL_API_KEY) run.talk.warn('REFERRAL_API_KEY is still set and is used instead of profiles.')
  run.record({ profile: name, changed: Boolean(gone) && !run.dryRun })
}

async function whoami(run: Run, { offline }: { offline?: boolean }): Promise<undefined> {
  const settings = requireSettings(run.world.env, run.globals.profile)
  if (settings.source !== 'environment' && isExposed(settings.where))
    run.talk.warn(`${settings.where} can be read by others on this machine: chmod 600 it.`)
  const valid = offline || !settings.apiKey ? null : await isValid(run, settings)
  const owner = offline || !settings.ownerToken ? undefined : await readOwner(run)
  const { source, where, profile, baseUrl, apiKey, ownerToken } = settings
  run.record({
    baseUrl,
    apiKey: prefixOf(apiKey),
    valid,
    ownerToken: prefixOf(ownerToken),
    user: owner ? `${owner.user.email} (${owner.user.role})` : null,
    shop: owner ? `${owner.shop.name} (${owner.shop.plan})` : null,
    source,
    storedIn: where,
    profile,
  })
}

async function readOwner(run: Run) {
  const { dataOf } = await import('../unwrap.ts')
  return dataOf(await (await run.owner()).GET('/admin/v1/session')).data
}

/** A key that lacks the scope of this look is a valid key. */
async function isValid(run: Run, { where }: Settings): Promise<true> {
  const { error } = await (await run.client()).affiliates.list({ limit: 1 }).safe()
  if (!error || error.code === 'scope_missing') return true
  const { status } = error as { status?: number }
  if (status !== 401 && status !== 403) throw error
  throw new CliError(exit.auth, `${error.message} It is stored in ${where}.`, {
    status,
    code: error.code ?? 'key_unknown',
    requestId: error.requestId ?? null,
  })
}
