import type { ClientOptions, ReferralClient } from '@referral/sdk'
import { CliError, exit } from './exit.ts'
import type { Globals } from './output/style.ts'
import type { Settings } from './settings.ts'
import type { Talk } from './talk.ts'

/** What a client of the CLI does beside calling: it waits only when told to, and says what it does. */
export async function makeClient(
  credential: string,
  settings: Settings,
  { globals, talk }: { globals: Globals; talk: Talk },
): Promise<ReferralClient> {
  const { createReferralClient } = await import('@referral/sdk')
  let requestId: string | undefined
  const options: ClientOptions = {
    apiKey: credential,
    baseUrl: settings.baseUrl,
    onResponse: (info) => {
      requestId = info.requestId
    },
    onRetry: ({ status, delayMs, error }) => {
      const seconds = Math.ceil(delayMs / 1000)
      if (status === 429 && !globals.wait) throw rateLimited(seconds, requestId)
      talk.note(`${status === 429 ? 'rate limited' : (error?.message ?? `status ${status}`)}; again in ${seconds} s`)
    },
    logger: { debug: (line) => globals.verbose && talk.note(line), warn: () => {} },
  }
  return createReferralClient(options)
}

const rateLimited = (seconds: number, requestId: string | undefined) =>
  new CliError(exit.rateLimited, `Too many requests; try again in ${seconds} seconds.`, {
    status: 429,
    code: 'rate_limited',
    requestId: requestId ?? null,
  })

/** The credential that a command needs, or where to get it. */
export function credentialOf(settings: Settings, kind: 'apiKey' | 'ownerToken'): string {
  const credential = settings[kind]
  if (credential) return credential
  const isKey = kind === 'apiKey'
  throw new CliError(exit.auth, isKey ? 'There is no API key.' : "This needs an owner's token, and there is none.", {
    code: isKey ? 'api_key_missing' : 'owner_token_missing',
    hint: `Run \`referral login\` with ${isKey ? 'a key (rk_…)' : 'the token (ro_…)'}, or set ${isKey ? 'REFERRAL_API_KEY' : 'REFERRAL_OWNER_TOKEN'}.`,
  })
}
