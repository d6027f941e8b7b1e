import { programNotFound, totalTooLarge } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Body } from '../../contract/spec.ts'
import type { Context } from '../../core/context.ts'
import { minorUnitDigits } from '../../core/currencies.ts'
import { readFrom } from '../../core/lists.ts'
import { checkPeriod, parseBodyInstant } from '../../core/time.ts'
import { defineReport } from '../../database/database.ts'
import type { OrderRow } from '../../database/tables.ts'
import { decide } from '../../engine/decide.ts'
import type { Decision, Facts, ProgramFact, TermsFact } from '../../engine/facts.ts'
import { exactSum } from '../../engine/money.ts'
import { patchRate, type RateError, rateFromInput } from '../../engine/program-rate.ts'
import { parseFacts } from '../../engine/stored-facts.ts'
import { precedenceOf } from '../accounts/settings.ts'
import { findAffiliatesById } from '../affiliates/queries.ts'
import { readOrdersForBacktest } from '../ledger/orders.ts'
import { withCounts, withCustomer } from '../ledger/terms-facts.ts'
import { rateError } from '../programs/programs.ts'
import { findProgram } from '../programs/queries.ts'

/**
 * Decides past orders again under other settings, and compares the results. Runs in the report worker and stores nothing.
 *
 * @throws ApiError 400 `invalid_body`, `commission_percent_invalid` or `period_invalid`, 404 `program_not_found`, 409
 *   `total_too_large`.
 */
export async function run(ctx: Context, input: Body<'runBacktest'>): Promise<components['schemas']['Backtest']> {
  const { attributionPrecedence } = input
  const precedence = attributionPrecedence && precedenceOf(attributionPrecedence)
  if (input.programId && !(await findProgram(ctx.db.read, ctx.shop.id, input.programId))) throw programNotFound()
  const bounds = checkPeriod(parseBodyInstant('from', input.from), parseBodyInstant('to', input.to))
  const request: BacktestRequest = {
    ...bounds,
    currency: ctx.shop.currency,
    timeZone: ctx.shop.timeZone,
    emailHashKey: ctx.shop.emailHashKey,
    input,
    ...(precedence && { precedence }),
  }
  const done = await readFrom(ctx, backtestReport, request)
  if ('rejected' in done)
    throw rateError(done.rejected.reason, { type: done.rejected.type, currency: ctx.shop.currency })
  if (!done.report) throw totalTooLarge()
  return done.report
}

type BacktestInput = Body<'runBacktest'>
type RateType = ProgramFact['commissionType']
type Rules = components['schemas']['TermsRule'][]

interface BacktestRequest {
  input: BacktestInput
  /** The shop's, for orders that were decided without it. */
  currency: string
  timeZone: string
  emailHashKey: string
  /** The precedence of evidence, when it differs. */
  precedence?: Facts['settings']['precedence']
  /** Instants, both inclusive, of the orders. */
  from?: string
  to?: string
}

/** The comparison, null if a total exceeds the largest exact integer, or why the rate is invalid for a program. */
type BacktestResult =
  | { report: components['schemas']['Backtest'] | null }
  | { rejected: { reason: RateError; type: RateType } }

const MAX_ORDERS = 10_000
const PAGE_SIZE = 500

class RateRejected extends Error {
  readonly reason: RateError
  readonly type: RateType

  constructor(reason: RateError, type: RateType) {
    super(reason)
    this.reason = reason
    this.type = type
  }
}

/** Decides the newest orders of a period again under other settings, and compares the results. */
export const backtestReport = defineReport(
  import.meta.url,
  'backtestReport',
  async (db, { shopId, query }: { shopId: string; query: BacktestRequest }): Promise<BacktestResult> => {
    const { input, currency, timeZone, emailHashKey, precedence, ...bounds } = query
    const changed = changeOf(input, { precedence, currency })
    const shop = { id: shopId, currency, timeZone, emailHashKey }
    const change: Change = async (facts) =>
      input.rules ? withCounts(db, shop, await withCustomer(db, shop, changed(facts))) : changed(facts)
    const ledger = newLedger()
    let after: OrderRow | undefined
    let truncated = false
    try {
      do {
        const rows = await readOrdersForBacktest(db, shopId, { ...bounds, after }, PAGE_SIZE)
        for (const row of rows) await compare(ledger, row, change)
        after = rows.length === PAGE_SIZE ? rows.at(-1) : undefined
        truncated = after !== undefined && ledger.orders >= MAX_ORDERS
      } while (after && !truncated)
    } catch (error) {
      if (error instanceof RateRejected) return { rejected: { reason: error.reason, type: error.type } }
      throw error
    }
    const people = await findAffiliatesById(db, shopId, [...ledger.affiliateIds()])
    const report = ledgerToReport(ledger, new Map(people.map(({ id, name }) => [id, name])))
    return { report: report && { ...report, truncated } }
  },
  { isLong: true },
)

type Change = (facts: Facts) => Promise<Facts>

async function compare(ledger: Ledger, row: OrderRow, change: Change): Promise<void> {
  const facts = parseFacts(row.facts)
  const current: Decision = JSON.parse(row.decision)
  addOutcome(ledger, {
    orderId: row.orderId,
    currency: facts.order.currency,
    current,
    proposed: decide(await change(facts)),
  })
}

/** The other settings, as a change of the stored facts. */
function changeOf(
  input: BacktestInput,
  { precedence, currency }: Pick<BacktestRequest, 'precedence' | 'currency'>,
): (facts: Facts) => Facts {
  const { clickTouch } = input
  const onProgram = programChange(input, currency)
  return (facts) => ({
    ...facts,
    settings: { currency, ...facts.settings, ...(precedence && { precedence }), ...(clickTouch && { clickTouch }) },
    programs: Object.fromEntries(Object.entries(facts.programs).map(([id, program]) => [id, onProgram(program)])),
  })
}

/** A rate is validated together with the program's stored type, as when the program itself is updated. */
function programChange(input: BacktestInput, currency: string): (program: ProgramFact) => ProgramFact {
  const { programId, cookieDurationDays, commissionType, commissionPercent, rules } = input
  const digits = minorUnitDigits(currency)
  return (program) => {
    if (programId && program.id !== programId) return program
    const patched = patchRate(program, { commissionType, commissionPercent }, digits)
    if (!patched.ok) throw new RateRejected(patched.reason, commissionType ?? program.commissionType)
    const changed = {
      ...program,
      ...patched.rate,
      cookieDurationDays: cookieDurationDays ?? program.cookieDurationDays,
    }
    return rules ? { ...changed, terms: [termsOf(rules, changed.commissionType)] } : changed
  }

  /** In force at all times, and the same for everyone. */
  function termsOf(input: Rules, type: RateType): TermsFact {
    const rules = input.map(({ commissionPercent: percent, ...rule }) => {
      const read = percent === null ? null : rateFromInput(type, percent, digits)
      if (read && !read.ok) throw new RateRejected(read.reason, type)
      return { ...rule, rate: read ? read.rate.rate : null }
    })
    return { version: 0, createdAt: '', commissionType: type, currency, holdDays: 0, appliesTo: 'ORDERS', rules }
  }
}

type Backtest = components['schemas']['Backtest']

/** An order's decision, and the decision under the other settings. */
interface Comparison {
  orderId: string
  /** The order's own currency. */
  currency: string
  current: Decision
  proposed: Decision
}

interface Account {
  affiliateId: string
  currency: string
  currentOrders: number
  proposedOrders: number
  currentCents: bigint
  proposedCents: bigint
}

/** What each affiliate earned and would have earned, and which orders differ. */
interface Ledger {
  orders: number
  changed: number
  examples: Backtest['examples']
  accounts: Map<string, Account>
  affiliateIds: () => Set<string>
}

const MAX_EXAMPLES = 50

function newLedger(): Ledger {
  const accounts = new Map<string, Account>()
  const affiliateIds = () => new Set([...accounts.values()].map(({ affiliateId }) => affiliateId))
  return { orders: 0, changed: 0, examples: [], accounts, affiliateIds }
}

function addOutcome(ledger: Ledger, { orderId, currency, current, proposed }: Comparison): void {
  ledger.orders += 1
  addToAccount(ledger, current.currency ?? currency, current, 'current')
  addToAccount(ledger, proposed.currency ?? currency, proposed, 'proposed')
  const [before, after] = [outcomeOf(current, currency), outcomeOf(proposed, currency)]
  if (JSON.stringify(before) === JSON.stringify(after)) return
  ledger.changed += 1
  if (ledger.examples.length < MAX_EXAMPLES)
    ledger.examples.push({ orderId, currency, current: before, proposed: after })
}

/** The report; null when an amount exceeds the largest exact integer. @param names by affiliate ID */
function ledgerToReport(
  { orders, changed, examples, accounts }: Ledger,
  names: Map<string, string>,
): Omit<Backtest, 'truncated'> | null {
  const totals = totalsOf(accounts)
  const affiliates: Backtest['affiliates'] = []
  for (const { affiliateId, currency, currentOrders, proposedOrders, ...cents } of accounts.values()) {
    const amounts = amountsOf([cents])
    if (!amounts) return null
    if (amounts.deltaCents === 0 && currentOrders === proposedOrders) continue
    const name = names.get(affiliateId) ?? null
    affiliates.push({ affiliateId, name, currency, currentOrders, proposedOrders, ...amounts })
  }
  affiliates.sort((a, b) => b.deltaCents - a.deltaCents || (a.affiliateId < b.affiliateId ? -1 : 1))
  return totals && { orders, changed, totals, affiliates, examples }
}

function totalsOf(accounts: Ledger['accounts']): Backtest['totals'] | null {
  const byCurrency = Map.groupBy([...accounts.values()], ({ currency }) => currency)
  const totals: Backtest['totals'] = []
  for (const [currency, rows] of [...byCurrency].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const amounts = amountsOf(rows)
    if (!amounts) return null
    totals.push({ currency, ...amounts })
  }
  return totals
}

function amountsOf(accounts: Pick<Account, 'currentCents' | 'proposedCents'>[]) {
  const currentCents = exactSum(accounts.map((account) => account.currentCents))
  const proposedCents = exactSum(accounts.map((account) => account.proposedCents))
  if (currentCents === null || proposedCents === null) return null
  // Both are at least 0, so their difference is exact too.
  return { currentCents, proposedCents, deltaCents: proposedCents - currentCents }
}

function addToAccount(ledger: Ledger, currency: string, decision: Decision, side: 'current' | 'proposed'): void {
  const { affiliateId } = decision.attribution
  if (affiliateId === null || !decision.eligible) return
  const key = `${affiliateId} ${currency}`
  const account = ledger.accounts.get(key) ?? {
    affiliateId,
    currency,
    currentOrders: 0,
    proposedOrders: 0,
    currentCents: 0n,
    proposedCents: 0n,
  }
  account[`${side}Orders`] += 1
  account[`${side}Cents`] += BigInt(decision.amountCents)
  ledger.accounts.set(key, account)
}

const outcomeOf = ({ attribution, restrictionReasonCode, amountCents, currency }: Decision, orderCurrency: string) => ({
  affiliateId: attribution.affiliateId,
  reasonCode: attribution.reasonCode,
  restrictionReasonCode,
  amountCents,
  currency: currency ?? orderCurrency,
})
