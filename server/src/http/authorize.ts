import { ApiError, apiDisabled, forbidden, rateLimited } from '../contract/errors.ts'
import type { Operation } from '../contract/spec.ts'
import type { Deps, KeyContext } from '../core/context.ts'
import type { Reader } from '../database/access.ts'
import type { ShopRow } from '../database/tables.ts'
import { authenticate, type Caller, findCaller } from './authenticate.ts'
import type { BodyAccount } from './body-budget.ts'
import { ADDRESS_LIMIT, PLAN_LIMITS, type Window } from './rate-limit.ts'
import type { Server } from './server.ts'

export interface Visit {
  /** As `performance.now()` tells it. */
  startedAt: number
  authorization: string | null
  /** The client's address or network, which calls without a valid key are counted by. */
  address: string
  requestId: string
  /** The operation that it is for, once it is known. */
  operation?: string
  /** The window that the response headers tell. */
  window?: Window
  /** What the body takes of the server's memory. */
  body?: BodyAccount
}

/** What every handler finds beside its request. */
export type Env = { Variables: { visit: Visit } }

/**
 * Lets a call in or refuses it, in the order: kill switch, credential, plan, the shop's switch, rate limit, scope.
 *
 * @throws ApiError 401, 403, 429 or 503.
 */
export async function admit(server: Server, op: Operation, visit: Visit): Promise<KeyContext> {
  if (!(await server.apiSwitch.isOn())) throw apiDisabled()
  const { caller, limit } = await identify(server, visit)
  const subject = windowSubject(caller)
  if (isOff(caller)) {
    visit.window = await server.limiter.peek(subject, limit)
    throw apiDisabled()
  }
  visit.window = await server.limiter.consume(subject, limit)
  if (visit.window.exceeded) throw rateLimited(visit.window)
  server.noteUse(caller.key)
  requireScope(op, caller)
  const { key, shop } = caller
  const recheck = (db: Reader) => checkAgain(server.deps, db, { op, secretHash: key.secretHash })
  return { ...server.deps, shop, actor: `key:${key.id}`, requestId: visit.requestId, recheck }
}

/** Repeats the checks of {@link admit} whose outcome can change while a request is open. */
async function checkAgain(
  deps: Deps,
  db: Reader,
  { op, secretHash }: { op: Operation; secretHash: string },
): Promise<ShopRow> {
  const caller = await findCaller(deps, db, secretHash)
  requirePlan(caller)
  if (isOff(caller)) throw apiDisabled()
  requireScope(op, caller)
  return caller.shop
}

const isOff = ({ isApiOff, shop }: Caller): boolean => isApiOff || !shop.apiEnabled

/** The requests per window of the caller's plan. */
function requirePlan({ shop }: Caller): number {
  const limit = PLAN_LIMITS[shop.plan]
  if (limit === undefined) throw forbidden('plan_required', 'The API needs the Professional plan.')
  return limit
}

function requireScope(op: Operation, { scopes }: Caller): void {
  if (op.scope && !scopes.includes(op.scope)) {
    throw forbidden('scope_missing', `This API key lacks the scope ${op.scope}.`)
  }
}

/** A caller whose plan has API access; everybody else is counted by address, and told 429 when that is used up. */
async function identify(server: Server, visit: Visit): Promise<{ caller: Caller; limit: number }> {
  try {
    const caller = await authenticate(server.deps, visit.authorization)
    return { caller, limit: requirePlan(caller) }
  } catch (error) {
    if (!(error instanceof ApiError) || error.status === 503) throw error
    visit.window = await server.limiter.consume(`address:${visit.address}`, ADDRESS_LIMIT)
    throw visit.window.exceeded ? rateLimited(visit.window) : error
  }
}

/** What a key's requests are counted by. It survives rotation, which keeps the id. */
const windowSubject = ({ key }: Caller): string => `key:${key.limitSubject ?? key.id}`

/** The window to show on an answer that was given before the key was looked at: the key's own when there is a valid one. */
export async function windowToShow(server: Server, visit: Visit): Promise<Window> {
  if (visit.window) return visit.window
  if (visit.authorization) {
    const caller = await authenticate(server.deps, visit.authorization).catch(() => undefined)
    const limit = caller && PLAN_LIMITS[caller.shop.plan]
    if (caller && limit) return server.limiter.peek(windowSubject(caller), limit)
  }
  return server.limiter.peek(`address:${visit.address}`, ADDRESS_LIMIT)
}
