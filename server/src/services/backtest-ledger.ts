import type { Decision } from '../engine/facts.ts'
import type { components } from '../http/schema.d.ts'

type Backtest = components['schemas']['Backtest']

/** One order as it was decided, and as it would be. */
export interface Compared {
  orderId: string
  currency: string
  current: Decision
  proposed: Decision
}

interface Account {
  affiliateId: string
  currency: string
  currentOrders: number
  proposedOrders: number
  currentCents: number
  proposedCents: number
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
  book(ledger, currency, current, 'current')
  book(ledger, currency, proposed, 'proposed')
  const [was, is] = [outcomeOf(current), outcomeOf(proposed)]
  if (JSON.stringify(was) === JSON.stringify(is)) return
  ledger.changed += 1
  if (ledger.examples.length < MOST_EXAMPLES) ledger.examples.push({ orderId, currency, current: was, proposed: is })
}

/** The report; `names` by affiliate id. */
export function ledgerToReport(
  { orders, changed, examples, accounts }: Ledger,
  names: Map<string, string>,
): Omit<Backtest, 'truncated'> {
  const affiliates = [...accounts.values()]
    .map((account) => ({
      ...account,
      name: names.get(account.affiliateId) ?? null,
      deltaCents: account.proposedCents - account.currentCents,
    }))
    .filter((one) => one.deltaCents !== 0 || one.currentOrders !== one.proposedOrders)
    .sort((a, b) => b.deltaCents - a.deltaCents || (a.affiliateId < b.affiliateId ? -1 : 1))
  return { orders, changed, totals: totalsOf(accounts), affiliates, examples }
}

function totalsOf(accounts: Ledger['accounts']): Backtest['totals'] {
  const byCurrency = Map.groupBy([...accounts.values()], ({ currency }) => currency)
  return [...byCurrency]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([currency, own]) => {
      const currentCents = own.reduce((sum, one) => sum + one.currentCents, 0)
      const proposedCents = own.reduce((sum, one) => sum + one.proposedCents, 0)
      return { currency, currentCents, proposedCents, deltaCents: proposedCents - currentCents }
    })
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
    currentCents: 0,
    proposedCents: 0,
  }
  account[`${side}Orders`] += 1
  account[`${side}Cents`] += decision.amountCents
  ledger.accounts.set(key, account)
}

const outcomeOf = ({ attribution, restrictionReasonCode, amountCents }: Decision) => ({
  affiliateId: attribution.affiliateId,
  reasonCode: attribution.reasonCode,
  restrictionReasonCode,
  amountCents,
})
