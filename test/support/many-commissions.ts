import { engine } from './database.ts'
import type { TestServer } from './server.ts'

/** A shop with so many commissions that SQL generates them, and the independent calculation of their batch. */
export interface ManyCommissions {
  shopId: string
  /** The prefix of all ids. */
  prefix: string
  commissions: number
  affiliates: number
}

/** The affiliates with these numbers are rejected, so that their commissions are held back. */
const isRejected = (affiliate: number) => affiliate % 50 === 49
/** The first affiliates owe more than they earned. */
const DEBTORS = 5
const DEBT_CENTS = 100_000_000
const amountOf = (i: number) => (i % 997 === 0 ? -60 : 100 + ((i * 37) % 4999))
const taxOf = (i: number) => i % 7

/** The statements that insert the rows. Commission `i` is `<prefix>com<i>`, of affiliate `<prefix>aff<i % affiliates>`. */
export function manyRows(engine: 'sqlite' | 'postgres', { shopId, prefix, commissions, affiliates }: ManyCommissions) {
  const seconds = '((i * 61) % 2600000)'
  const at =
    engine === 'sqlite'
      ? `strftime('%Y-%m-%dT%H:%M:%fZ', '2026-10-01', '+' || ${seconds} || ' seconds')`
      : `to_char(timestamp '2026-10-01' + ${seconds} * interval '1 second', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
  const numbers = (count: number) =>
    `with recursive n(i) as (select 0 union all select i + 1 from n where i < ${count - 1})`
  const time = "'2026-10-20T12:00:00.000Z'"
  const affiliateColumns: Record<string, string> = {
    shopId: `'${shopId}'`,
    id: `'${prefix}aff' || i`,
    name: `'Affiliate ' || i`,
    email: `'${prefix}' || i || '@example.com'`,
    emailKey: `'${prefix}' || i || '@example.com'`,
    slug: `'${prefix}' || i`,
    discountCode: `'${prefix}' || i`,
    codeKey: `'${prefix}' || i`,
    searchText: `''`,
    status: `case when i % 50 = 49 then 'REJECTED' else 'APPROVED' end`,
    createdAt: time,
    updatedAt: time,
    version: '1',
  }
  const commissionColumns: Record<string, string> = {
    shopId: `'${shopId}'`,
    id: `'${prefix}com' || i`,
    affiliateId: `'${prefix}aff' || (i % ${affiliates})`,
    externalOrderId: `'${prefix}' || i`,
    orderId: `'api:${prefix}' || i`,
    currency: `'USD'`,
    orderCurrency: `'USD'`,
    commissionType: `'PERCENT_OF_SALE'`,
    commissionBaseCents: '10000',
    remainingBaseCents: '10000',
    commissionRateBps: '1000',
    commissionAmountCents: `case when i < ${DEBTORS} then -${DEBT_CENTS} when i % 997 = 0 then -60 else 100 + (i * 37) % 4999 end`,
    taxWithheldCents: 'i % 7',
    orderSubtotalCents: '10000',
    orderDiscountCents: '0',
    orderShippingCents: '0',
    orderTaxCents: '0',
    trackingMethod: `'API'`,
    attributionMethod: `'COUPON'`,
    attributionReasonCode: `'COUPON_MATCH'`,
    orderStatus: `case when i % 3 = 0 then 'ACCEPTED' else 'APPROVED' end`,
    happenedAt: at,
    availableAt: at,
    createdAt: time,
    updatedAt: time,
    version: '1',
  }
  const insert = (table: string, count: number, columns: Record<string, string>) =>
    `insert into "${table}" (${Object.keys(columns).map((name) => `"${name}"`)})
      ${numbers(count)} select ${Object.values(columns)} from n`
  return [insert('affiliates', affiliates, affiliateColumns), insert('commissions', commissions, commissionColumns)]
}

/** What a batch of all these commissions pays, added up without the server. */
export function expectedBatch({ commissions, affiliates }: Pick<ManyCommissions, 'commissions' | 'affiliates'>) {
  const nets = new Map<number, { cents: number; tax: number }>()
  const heldBack = { commissions: 0, commissionCents: 0 }
  const totals = { commissions: 0, affiliates: 0, commissionCents: 0, taxWithheldCents: 0, netPayableCents: 0 }
  for (let i = 0; i < commissions; i++) {
    const cents = i < DEBTORS ? -DEBT_CENTS : amountOf(i)
    const affiliate = i % affiliates
    if (isRejected(affiliate)) {
      heldBack.commissions++
      heldBack.commissionCents += cents
      continue
    }
    const net = nets.get(affiliate) ?? { cents: 0, tax: 0 }
    nets.set(affiliate, net)
    net.cents += cents
    net.tax += taxOf(i)
    totals.commissions++
    totals.commissionCents += cents
    totals.taxWithheldCents += taxOf(i)
  }
  totals.affiliates = nets.size
  for (const { cents, tax } of nets.values()) {
    if (cents >= tax) continue
    // A debt is carried forward by a commission that balances it.
    totals.commissions++
    totals.commissionCents += tax - cents
  }
  totals.netPayableCents = totals.commissionCents - totals.taxWithheldCents
  return { totals, heldBack }
}

/** Inserts the rows of {@link manyRows} into the shop of a server. */
export function addMany({ sql, shop }: Pick<TestServer, 'sql' | 'shop'>, commissions: number, affiliates = 100): void {
  const { shopId } = shop
  for (const text of manyRows(engine, { shopId, prefix: shopId, commissions, affiliates })) sql.exec(text)
}
