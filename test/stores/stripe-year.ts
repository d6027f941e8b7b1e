import type Stripe from 'stripe'

type Part<T> = T extends (infer Item)[] ? Part<Item>[] : T extends object ? { [Name in keyof T]?: Part<T[Name]> } : T

/** An event as Stripe sends it, with the properties that matter. */
export interface StripeEvent {
  id: string
  type: string
  created: number
  livemode: boolean
  data: { object: { id: string } & Record<string, unknown> }
}

/** Before and since invoices lost `charge` and `payment_intent`. */
export const SHAPES = ['2025-02-24.acacia', '2026-10-28.endive'] as const
type Shape = (typeof SHAPES)[number]

interface Line {
  amount: number
  discount?: number
  tax?: number
  isInclusive?: boolean
}

const DAY = 86_400

/** Makes the events of one subscription: ids contain `name`, so that several can share a shop. */
export class Subscription {
  readonly events: StripeEvent[] = []
  readonly #name: string
  readonly #shape: Shape
  readonly #metadata: Record<string, string>
  #at: number
  #count = 0

  constructor(name: string, shape: Shape, startsAt: number, metadata: Record<string, string>) {
    this.#name = name
    this.#shape = shape
    this.#at = startsAt
    this.#metadata = metadata
  }

  /** A paid invoice, and in the current shape its payment. Returns its number. */
  pay(lines: Line[]): number {
    const n = ++this.#count
    const total = lines.reduce(
      (sum, { amount, discount = 0, tax = 0, isInclusive }) => sum + amount - discount + (isInclusive ? 0 : tax),
      0,
    )
    this.#at += 30 * DAY
    this.#add(
      'invoice.paid',
      this.#shape === '2025-02-24.acacia' ? this.#earlier(n, lines, total) : this.#current(n, lines, total),
    )
    if (this.#shape !== '2025-02-24.acacia') {
      const payment: Part<Stripe.InvoicePayment> = {
        id: `inpay_${this.#name}_${n}`,
        invoice: this.invoiceId(n),
        payment: { type: 'payment_intent', payment_intent: this.paymentId(n) },
        status: 'paid',
      }
      this.#add('invoice_payment.paid', payment)
    }
    return n
  }

  /** A refund of an invoice's payment, and the states that it passes through. */
  refund(n: number, amount: number, states: string[]): void {
    const id = `re_${this.#name}_${++this.#count}`
    for (const [index, status] of states.entries()) {
      const refund: Part<Stripe.Refund> = {
        id,
        amount,
        currency: 'usd',
        payment_intent: this.paymentId(n),
        charge: `ch_${this.#name}_${n}`,
        reason: 'requested_by_customer',
        status,
        created: this.#at,
      }
      this.#add(index === 0 ? 'refund.created' : status === 'failed' ? 'refund.failed' : 'refund.updated', refund)
    }
  }

  dispute(n: number, amount: number, isWon: boolean): void {
    const dispute: Part<Stripe.Dispute> = {
      id: `du_${this.#name}_${n}`,
      amount,
      currency: 'usd',
      charge: `ch_${this.#name}_${n}`,
      payment_intent: this.paymentId(n),
    }
    this.#add('charge.dispute.funds_withdrawn', dispute)
    if (isWon) this.#add('charge.dispute.funds_reinstated', dispute)
  }

  invoiceId = (n: number) => `in_${this.#name}_${n}`
  paymentId = (n: number) => `pi_${this.#name}_${n}`

  #current(n: number, lines: Line[], total: number): Part<Stripe.Invoice> {
    return {
      ...this.#common(n, total),
      parent: { type: 'subscription_details', subscription_details: { metadata: this.#metadata } },
      lines: {
        has_more: false,
        data: lines.map(({ amount, discount = 0, tax = 0, isInclusive = false }) => ({
          amount,
          quantity: 1,
          discount_amounts: [{ amount: discount }],
          taxes: [{ amount: tax, tax_behavior: isInclusive ? 'inclusive' : 'exclusive' }],
        })),
      },
    }
  }

  #earlier(n: number, lines: Line[], total: number): object {
    return {
      ...this.#common(n, total),
      charge: `ch_${this.#name}_${n}`,
      payment_intent: this.paymentId(n),
      subscription_details: { metadata: this.#metadata },
      lines: {
        has_more: false,
        data: lines.map(({ amount, discount = 0, tax = 0, isInclusive = false }) => ({
          amount,
          quantity: 1,
          discount_amounts: [{ amount: discount }],
          tax_amounts: [{ amount: tax, inclusive: isInclusive }],
        })),
      },
    }
  }

  #common(n: number, total: number) {
    return {
      id: this.invoiceId(n),
      number: `${this.#name}-${n}`,
      currency: 'usd',
      customer: `cus_${this.#name}`,
      customer_email: `${this.#name}@example.com`,
      total,
      amount_paid: Math.max(0, total),
      status_transitions: { paid_at: this.#at },
    }
  }

  #add(type: Stripe.Event['type'], object: object): void {
    this.events.push({
      id: `evt_${this.#name}_${this.events.length}`,
      type,
      created: this.#at,
      livemode: true,
      data: { object: object as StripeEvent['data']['object'] },
    })
  }
}

/**
 * A year: trial, start, coupon, prorations, a yearly invoice with included tax, a partial and a failed refund, a lost and a
 * won dispute. Returns the events, and by invoice what 16% of what remains is, computed by hand.
 */
export function subscriptionYear(name: string, shape: Shape, startsAt: number) {
  const year = new Subscription(name, shape, startsAt, { referral_code: 'NISA16' })
  year.pay([{ amount: 0 }])
  // 100.00, of whose 107.65 with tax 53.83 come back: 50.01 of the goods. 49.99 × 16% = 8.00.
  const start = year.pay([{ amount: 10_000, tax: 765 }])
  year.refund(start, 5383, ['pending', 'succeeded'])
  // 100.00 − 10.00. Its refund fails. 14.40.
  const coupon = year.pay([{ amount: 10_000, discount: 1000, tax: 689 }])
  year.refund(coupon, 9689, ['pending', 'failed'])
  // 150.00 for the rest of the month − 50.00 unused, and the dispute is lost. 0.
  const upgrade = year.pay([{ amount: -5000 }, { amount: 15_000 }])
  year.dispute(upgrade, 10_000, false)
  // A credit for later: nothing was paid.
  const downgrade = year.pay([{ amount: -12_000 }, { amount: 4000 }])
  // 1,000.00 with 159.66 of tax: 840.34 × 16% = 134.45. The dispute is won.
  const yearly = year.pay([{ amount: 100_000, tax: 15_966, isInclusive: true }])
  year.dispute(yearly, 100_000, true)
  const expected = new Map<string, number | undefined>([
    [year.invoiceId(1), undefined],
    [year.invoiceId(start), 800],
    [year.invoiceId(coupon), 1440],
    [year.invoiceId(upgrade), 0],
    [year.invoiceId(downgrade), undefined],
    [year.invoiceId(yearly), 13_445],
  ])
  return { events: year.events, expected }
}
