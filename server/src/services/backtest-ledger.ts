import type { Decision } from '../engine/facts.ts'
import { exactSum } from '../engine/money.ts'
import type { components } from '../http/schema.d.ts'

type Backtest = components['schemas']['Backtest']

/** One order as it was decided, and as it would be. */
export interface Compared {
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

/** Who earned and would earn what, and which orders differ. */
export interface Ledger {
  orders: number
  changed: number
  examples: Backtest['examples']
  accounts: Map<string, Account>
  affiliateIds: () => Set<string>
}

const MOST_EXAMPLES = 50

export function newLedger(): Ledger {
  const accounts = new Map<string, Account>()
  const affiliateIds = () => new Set([...accounts.values()].map(({ affiliateId }) => affiliateId))
  return { orders: 0, changed: 0, examples: [], accounts, affiliateIds }
}

export function addOutcome(ledger: Ledger, { orderId, currency, current, proposed }: Compared): void {
  ledger.orders += 1
  book(ledger, current.currency ?? currency, current, 'current')
  book(ledger, proposed.currency ?? currency, proposed, 'proposed')
  const [was, is] = [outcomeOf(current, currency), outcomeOf(proposed, currency)]
  if (JSON.stringify(was) === JSON.stringify(is)) return
  ledger.changed += 1
  if (ledger.examples.length < MOST_EXAMPLES) ledger.examples.push({ orderId, currency, current: was, proposed: is })
}

/** The report, or null when an amount in it cannot be exact; `names` by affiliate id. */
export function ledgerToReport(
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
  for (const [currency, own] of [...byCurrency].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const amounts = amountsOf(own)
    if (!amounts) return null
    totals.push({ currency, ...amounts })
  }
  return totals
}

function amountsOf(accounts: Pick<Account, 'currentCents' | 'proposedCents'>[]) {
  const currentCents = exactSum(accounts.map((one) => one.currentCents))
  const proposedCents = exactSum(accounts.map((one) => one.proposedCents))
  if (currentCents === null || proposedCents === null) return null
  // Both are at least 0, so their difference is exact too.
  return { currentCents, proposedCents, deltaCents: proposedCents - currentCents }
}

function book(ledger: Ledger, currency: string, decision: Decision, side: 'current' | 'proposed'): void {
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
