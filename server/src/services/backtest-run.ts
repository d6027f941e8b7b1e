import type { RunAside } from '../db/aside.ts'
import type { OrderRow } from '../db/tables.ts'
import { decide } from '../engine/decide.ts'
import type { Decision, Facts, ProgramFact } from '../engine/facts.ts'
import { patchRate, type RateRefusal } from '../engine/program-rate.ts'
import type { components } from '../http/schema.d.ts'
import type { Body } from '../http/spec.ts'
import { findAffiliatesById } from '../repositories/affiliates.ts'
import { listOrders } from '../repositories/order-history.ts'
import { addOutcome, type Ledger, ledgerToReport, newLedger } from './backtest-ledger.ts'

type Wanted = Body<'runBacktest'>
type RateType = ProgramFact['commissionType']

export interface BacktestWish {
  shopId: string
  wanted: Wanted
  /** The shop's, for orders that were decided without it. */
  currency: string
  /** The order in which evidence is to win, if another one. */
  precedence?: Facts['settings']['precedence']
  /** Instants, both inclusive, of the orders. */
  from?: string
  to?: string
}

/** The comparison, null when it cannot be exact, or why a program could not have had such a rate. */
export type BacktestResult =
  | { report: components['schemas']['Backtest'] | null }
  | { refused: { reason: RateRefusal; type: RateType } }

const MOST = 10_000
const LOT = 500

class Refused extends Error {
  readonly reason: RateRefusal
  readonly type: RateType

  constructor(reason: RateRefusal, type: RateType) {
    super(reason)
    this.reason = reason
    this.type = type
  }
}

/** Decides the newest orders of a period again under other settings, and compares. */
export const runAside: RunAside<BacktestWish, BacktestResult> = async (
  db,
  { shopId, wanted, currency, precedence, ...bounds },
) => {
  const change = changeOf(wanted, { precedence, currency })
  const ledger = newLedger()
  let after: OrderRow | undefined
  let truncated = false
  try {
    do {
      const rows = await listOrders(db, shopId, { ...bounds, after }, LOT)
      for (const row of rows) compare(ledger, row, change)
      after = rows.length === LOT ? rows.at(-1) : undefined
      truncated = after !== undefined && ledger.orders >= MOST
    } while (after && !truncated)
  } catch (error) {
    if (error instanceof Refused) return { refused: { reason: error.reason, type: error.type } }
    throw error
  }
  const people = await findAffiliatesById(db, shopId, [...ledger.affiliateIds()])
  const report = ledgerToReport(ledger, new Map(people.map(({ id, name }) => [id, name])))
  return { report: report && { ...report, truncated } }
}

type Change = (facts: Facts) => Facts

function compare(ledger: Ledger, row: OrderRow, change: Change): void {
  const facts: Facts = JSON.parse(row.facts)
  const current: Decision = JSON.parse(row.decision)
  addOutcome(ledger, { orderId: row.orderId, currency: facts.order.currency, current, proposed: decide(change(facts)) })
}

/** What is tried, as a change of the stored facts. */
function changeOf(wanted: Wanted, { precedence, currency }: Pick<BacktestWish, 'precedence' | 'currency'>): Change {
  const { clickTouch } = wanted
  const onProgram = programChange(wanted)
  return (facts) => ({
    ...facts,
    settings: { currency, ...facts.settings, ...(precedence && { precedence }), ...(clickTouch && { clickTouch }) },
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
    if (!patched.ok) throw new Refused(patched.reason, commissionType ?? program.commissionType)
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
