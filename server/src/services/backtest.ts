import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Context } from '../context.ts'
import type { OrderRow } from '../db/tables.ts'
import { decide } from '../engine/decide.ts'
import type { Decision, Facts, ProgramFact } from '../engine/facts.ts'
import { patchRate } from '../engine/program-rate.ts'
import { invalidBody, programNotFound } from '../errors.ts'
import type { components } from '../http/schema.d.ts'
import type { Body } from '../http/spec.ts'
import { findAffiliatesById } from '../repositories/affiliates.ts'
import { listOrders } from '../repositories/order-history.ts'
import { findProgram } from '../repositories/programs.ts'
import { addOutcome, type Ledger, ledgerToReport, newLedger } from './backtest-ledger.ts'
import { instantBody, period } from './instant.ts'
import { rateError } from './programs.ts'
import { precedenceOf } from './settings.ts'

type Wanted = Body<'runBacktest'>

const MOST = 10_000
/** So many orders are decided between two turns of the event loop: everybody else waits a few milliseconds at most. */
const LOT = 100

/**
 * Decides past orders again under other settings, and compares. Writes nothing.
 *
 * @throws ApiError 400 `invalid_body`, `commission_percent_invalid` or `period_invalid`, 404 `program_not_found`.
 */
export async function run(ctx: Context, wanted: Wanted): Promise<components['schemas']['Backtest']> {
  const change = changeOf(wanted)
  if (wanted.programId && !(await findProgram(ctx.db.read, ctx.shop.id, wanted.programId))) throw programNotFound()
  const bounds = period(instantBody('from', wanted.from), instantBody('to', wanted.to))
  const ledger = newLedger()
  let after: OrderRow | undefined
  let truncated = false
  do {
    const rows = await listOrders(ctx.db.read, ctx.shop.id, { ...bounds, after }, LOT)
    for (const row of rows) compare(ledger, row, change)
    after = rows.length === LOT ? rows.at(-1) : undefined
    truncated = after !== undefined && ledger.orders >= MOST
    await nextTurn()
  } while (after && !truncated)
  const people = await findAffiliatesById(ctx.db.read, ctx.shop.id, [...ledger.affiliateIds()])
  return { ...ledgerToReport(ledger, new Map(people.map(({ id, name }) => [id, name]))), truncated }
}

type Change = (facts: Facts) => Facts

function compare(ledger: Ledger, row: OrderRow, change: Change): void {
  const facts: Facts = JSON.parse(row.facts)
  const current: Decision = JSON.parse(row.decision)
  addOutcome(ledger, { orderId: row.orderId, currency: facts.order.currency, current, proposed: decide(change(facts)) })
}

/** What is tried, as a change of the stored facts. */
function changeOf(wanted: Wanted): Change {
  const { attributionPrecedence, clickTouch, cookieDurationDays, commissionType, commissionPercent } = wanted
  const isEmpty = [attributionPrecedence, clickTouch, cookieDurationDays, commissionType, commissionPercent].every(
    (value) => value === undefined,
  )
  if (isEmpty) throw invalidBody('Send at least one other setting to try.')
  const precedence = attributionPrecedence && precedenceOf(attributionPrecedence)
  const onProgram = programChange(wanted)
  return (facts) => ({
    ...facts,
    settings: { ...facts.settings, ...(precedence && { precedence }), ...(clickTouch && { clickTouch }) },
    programs: Object.fromEntries(Object.entries(facts.programs).map(([id, program]) => [id, onProgram(program)])),
  })
}

/** A rate is read together with the type that a program had, as a change of the program itself would be. */
function programChange(wanted: Wanted): (program: ProgramFact) => ProgramFact {
  const { programId, cookieDurationDays, commissionType, commissionPercent } = wanted
  return (program) => {
    if (programId && program.id !== programId) return program
    const { id, productRules, geoRule, autoApproveOrder, lifetimeCommission } = program
    const patched = patchRate(program, { commissionType, commissionPercent })
    if (!patched.ok) throw rateError(patched.reason, commissionType ?? program.commissionType)
    const cookie = cookieDurationDays ?? program.cookieDurationDays
    return {
      id,
      productRules,
      geoRule,
      autoApproveOrder,
      lifetimeCommission,
      ...patched.rate,
      cookieDurationDays: cookie,
    }
  }
}
