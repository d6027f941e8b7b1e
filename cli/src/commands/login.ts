import type { Command } from 'commander'
import { defineCommand, defineGroup } from '../command.ts'
import { CliError, exitCode, notFoundError } from '../exit.ts'
import type { LoginOptions } from '../login.ts'
import { checkProfileName, isReadableByOthers, readProfiles, writeProfiles } from '../profiles.ts'
import type { Run } from '../run.ts'
import { requireSettings, type Settings } from '../settings.ts'

export function addAuth(program: Command): void {
  defineCommand<LoginOptions>(program, 'login', {
    summary: 'store a key or an owner token for a service',
    details:
      'Asks for the secret without showing it; without a terminal it reads standard input, one secret a line. A key starts with rk_, an owner token with ro_. It is checked, then kept in a file that only you can read. A secret is never taken from an argument.',
    output: 'Login',
    writes: true,
    examples: ['referral login --base-url https://referrals.example.com', 'referral login --profile shop < key.txt'],
    action: async (run, { options }) => (await import('../login.ts')).login(run, options),
  }).option('--base-url <url>', 'where the service runs')

  defineCommand(program, 'logout', {
    summary: 'forget the secrets of a profile',
    output: 'Logout',
    writes: true,
    action: async (run) => logout(run),
  })

  defineCommand<{ offline?: boolean }>(program, 'whoami', {
    summary: 'which service, which key, and where it is stored',
    output: 'Identity',
    examples: ['referral whoami', 'referral whoami --offline --json'],
    action: (run, { options }) => whoami(run, options),
  }).option('--offline', 'do not ask the service')
  addProfiles(program)
}

function addProfiles(program: Command): void {
  const profiles = defineGroup(program, 'profiles', 'services you are logged in to')
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

/** Enough to tell keys apart, as the service itself shows them. */
const prefixOf = (secret: string | undefined) => (secret ? `${secret.slice(0, 10)}…` : null)

function useProfile(run: Run, name: string): undefined {
  const all = readProfiles(run.context.env)
  const found = Object.hasOwn(all.profiles, name) ? all.profiles[name] : undefined
  if (!found) throw notFoundError(`There is no profile ${name}.`, 'See `referral profiles list`.')
  if (!run.dryRun) writeProfiles(run.context.env, { ...all, current: name })
  const { baseUrl, apiKey, ownerToken } = found
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
  if (!gone) run.reporter.info(`There is no profile ${name}; nothing was changed.`)
  if (env.REFERRAL_API_KEY) run.reporter.warn('REFERRAL_API_KEY is still set and is used instead of profiles.')
  run.printRecord({ profile: name, changed: Boolean(gone) && !run.dryRun })
}

async function whoami(run: Run, { offline }: { offline?: boolean }): Promise<undefined> {
  const settings = requireSettings(run.context.env, run.globalOptions.profile)
  if (settings.source !== 'environment' && isReadableByOthers(settings.location))
    run.reporter.warn(`${settings.location} can be read by others on this machine: chmod 600 it.`)
  const valid = offline || !settings.apiKey ? null : await isKeyValid(run, settings)
  const owner = offline || !settings.ownerToken ? undefined : await readOwner(run)
  const { source, location: where, profile, baseUrl, apiKey, ownerToken } = settings
  run.printRecord({
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
  const { unwrap: dataOf } = await import('../unwrap.ts')
  return dataOf(await (await run.ownerClient()).GET('/admin/v1/session')).data
}

/** A key that lacks the scope of this look is a valid key. */
async function isKeyValid(run: Run, { location: where }: Settings): Promise<true> {
  const { error } = await (await run.client()).affiliates.list({ limit: 1 }).safe()
  if (!error || error.code === 'scope_missing') return true
  const { status } = error as { status?: number }
  if (status !== 401 && status !== 403) throw error
  throw new CliError(exitCode.auth, `${error.message} It is stored in ${where}.`, {
    status,
    code: error.code ?? 'key_unknown',
    requestId: error.requestId ?? null,
  })
}
