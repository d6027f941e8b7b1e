import type { ClientOptions, ReferralClient } from '@referral/sdk'
import { CliError, exitCode } from './exit.ts'
import type { GlobalOptions } from './output/style.ts'
import type { Settings } from './settings.ts'
import type { Reporter } from './talk.ts'

/** What a client of the CLI does beside calling: it waits only when told to, and says what it does. */
export async function createClient(
  credential: string,
  settings: Settings,
  { globalOptions, reporter }: { globalOptions: GlobalOptions; reporter: Reporter },
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
      if (status === 429 && !globalOptions.wait) throw rateLimited(seconds, requestId)
      reporter.info(
        `${status === 429 ? 'rate limited' : (error?.message ?? `status ${status}`)}; again in ${seconds} s`,
      )
    },
    logger: { debug: (line) => globalOptions.verbose && reporter.info(line), warn: () => {} },
  }
  return createReferralClient(options)
}

const rateLimited = (seconds: number, requestId: string | undefined) =>
  new CliError(exitCode.rateLimited, `Too many requests; try again in ${seconds} seconds.`, {
    status: 429,
    code: 'rate_limited',
    requestId: requestId ?? null,
  })

/** The credential that a command needs, or where to get it. */
export function requireCredential(settings: Settings, kind: 'apiKey' | 'ownerToken'): string {
  const credential = settings[kind]
  if (credential) return credential
  const isKey = kind === 'apiKey'
  throw new CliError(
    exitCode.auth,
    isKey ? 'There is no API key.' : "This needs an owner's token, and there is none.",
    {
      code: isKey ? 'api_key_missing' : 'owner_token_missing',
      hint: `Run \`referral login\` with ${isKey ? 'a key (rk_…)' : 'the token (ro_…)'}, or set ${isKey ? 'REFERRAL_API_KEY' : 'REFERRAL_OWNER_TOKEN'}.`,
    },
  )
}
