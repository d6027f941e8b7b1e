import type { Deps } from '../core/context.ts'
import type { Vault } from '../core/vault.ts'
import { openLimitStore } from '../database/limit-store.ts'
import { createRateLimiter, LIMITER_OPTIONS, type RateLimiter } from './rate-limit.ts'

/** The limiter of a server process, and how to leave its store. `onFailure`: a request was let through uncounted. */
export async function openLimits(
  { config, vault }: Pick<Deps, 'config' | 'vault'>,
  onFailure?: () => void,
): Promise<{ limiter: RateLimiter; close: () => Promise<void> }> {
  const { store, isShared, close } = await openLimitStore(config, LIMITER_OPTIONS)
  const nameOf = isShared ? withoutAddresses(vault) : undefined
  return { limiter: createRateLimiter({ store, onFailure, nameOf }), close }
}

/** What leaves this process names callers by key, and addresses only by a keyed hash. */
const withoutAddresses = (vault: Vault) => (subject: string) => {
  const [kind, name = ''] = subject.split(/:(.*)/s)
  return kind === 'key' ? subject : `${kind}:${vault.fingerprint(name).slice(0, 32)}`
}
