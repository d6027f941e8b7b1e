import type { Deps } from '../core/context.ts'

/** The caller's own id when it is short and harmless, else a new one. */
export function requestIdOf(given: string | undefined, deps: Pick<Deps, 'newId'>): string {
  return given && /^[\w.:-]{1,128}$/.test(given) ? given : deps.newId('req')
}
