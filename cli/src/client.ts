import type { AppInfo, ClientOptions, ReferralClient } from '@referral/sdk'
import { CliError, exitCode } from './errors.ts'
import type { GlobalOptions } from './output/style.ts'
import type { Reporter } from './reporter.ts'
import type { Settings } from './settings.ts'

/** Node.js's `fetch` waits 5 minutes for a response. */
const LONG_TIMEOUT_MS = 290_000

/** Creates an SDK client that reports its retries, and waits for the rate limit only with `--wait`. */
export async function createClient(
  credential: string,
  settings: Settings,
  { globalOptions, reporter, isLong = false }: { globalOptions: GlobalOptions; reporter: Reporter; isLong?: boolean },
  appInfo?: AppInfo,
): Promise<ReferralClient> {
  const { createReferralClient } = await import('@referral/sdk')
  const options: ClientOptions = {
    apiKey: credential,
    baseUrl: settings.baseUrl,
    appInfo,
    ...(isLong && { timeoutMs: LONG_TIMEOUT_MS }),
    retryRateLimited: globalOptions.wait === true,
    onRetry: ({ status, delayMs, error }) => {
      const seconds = Math.ceil(delayMs / 1000)
      const reason = status === 429 ? 'rate limited' : (error?.message ?? `status ${status}`)
      reporter.info(`${reason}; retrying in ${seconds} s`)
    },
    logger: { debug: (line) => globalOptions.verbose && reporter.info(line), warn: () => {} },
  }
  return createReferralClient(options)
}

/** Returns a credential. @throws {CliError} when the settings do not contain it. */
export function requireCredential(settings: Settings, kind: 'apiKey' | 'ownerToken'): string {
  const credential = settings[kind]
  if (credential) return credential
  throw kind === 'apiKey'
    ? new CliError(exitCode.auth, 'No API key was found.', {
        code: 'api_key_missing',
        hint: 'Run `referral login` with a key (rk_…), or set REFERRAL_API_KEY.',
      })
    : new CliError(exitCode.auth, 'This command requires an owner token, and none was found.', {
        code: 'owner_token_missing',
        hint: 'Run `referral login` with the token (ro_…), or set REFERRAL_OWNER_TOKEN.',
      })
}
