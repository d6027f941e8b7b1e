import { rowsOf } from '../../core/lists.ts'
import * as affiliates from '../../domains/affiliates/affiliates.ts'
import { findExactly } from '../../domains/affiliates/search.ts'
import * as coupons from '../../domains/coupons/coupons.ts'
import * as orders from '../../domains/orders/reported.ts'
import * as payouts from '../../domains/payouts/search.ts'
import * as programs from '../../domains/programs/programs.ts'
import * as deliveries from '../../domains/webhooks/deliveries.ts'
import { money, time } from '../kit/format.ts'
import { type Html, html, isolated } from '../kit/html.ts'
import { readForPage } from '../kit/report-cache.ts'
import type { PageRequest } from '../kit/route.ts'
import { badge } from '../kit/status.ts'
import { urlWithQuery } from '../kit/url.ts'
import { pagesFor } from '../menu.ts'
import { period } from '../payouts/payout-summary.ts'

/** Results shown per kind. Its list has the rest. */
const MAX_HITS = 5

interface Hit {
  to: string
  text: Html | string
  /** Distinguishes it from results with the same text. */
  about?: Html | string
}

export interface Hits {
  kind: string
  hits: Hit[]
  /** A link to the list with the same filter, if it has more. */
  all?: string | undefined
}

export interface Found {
  kinds: Hits[]
  /** Whether a large shop's names and codes are still being searched. */
  isSearching: boolean
}

/** Finds everything that matches a text: pages, exact IDs, names, and codes, and names that contain it. */
export async function findAnything(request: PageRequest, text: string): Promise<Found> {
  const { ctx, isOwner } = request
  const [ofOrders, people, ofPrograms, batches, payments, deliveryHits] = await Promise.all([
    findOrders(request, text),
    findPeople(request, refIn(text)),
    programs.findByName(ctx, text, MAX_HITS),
    isOwner ? payouts.findBatches(ctx, text, MAX_HITS) : [],
    isOwner ? findPayments(request, text) : [],
    findDeliveries(request, text),
  ])
  const kinds: Hits[] = [
    pagesNamed(isOwner, text),
    ofOrders,
    ...people.kinds,
    {
      kind: 'Programs',
      hits: ofPrograms.map(({ id, name, status }) => ({
        to: `/admin/programs/${id}`,
        text: isolated(name),
        about: badge(status),
      })),
    },
    {
      kind: 'Payouts',
      hits: batches.map((batch) => ({
        to: `/admin/payouts/${batch.id}`,
        text: period(batch, request.zone),
        about: html`${batch.currency} ${badge(batch.status)}`,
      })),
      all: batches.length === MAX_HITS ? '/admin/payouts' : undefined,
    },
    { kind: 'Payments', hits: payments },
    { kind: 'Deliveries', hits: deliveryHits },
  ]
  return { kinds: kinds.filter(({ hits }) => hits.length > 0), isSearching: people.isSearching }
}

/** Pages by name, and a customer's journey by email address. */
export function pagesNamed(isOwner: boolean, text: string): Hits {
  const pages = pagesFor(isOwner, text).map(({ path, label }) => ({ to: `/admin${path}`, text: label }))
  const journey = {
    to: urlWithQuery('/admin/journey', { customerEmail: text }),
    text: html`Journey of ${isolated(text)}`,
  }
  return { kind: 'Go to', hits: /^\S+@\S+\.\S+$/.test(text) ? [...pages, journey] : pages }
}

async function findOrders({ ctx, zone }: PageRequest, text: string): Promise<Hits> {
  const matches = await orders.findReported(ctx, text, MAX_HITS)
  return {
    kind: 'Orders',
    hits: matches.map((order) => ({
      to: urlWithQuery('/admin/orders', { id: order.orderId }),
      text: isolated(order.name),
      about: html`${time(order.orderAt, '', zone)}, ${money(order.goodsCents, order.orderCurrency)} ${badge(order.outcome)}`,
    })),
    all: matches.length === MAX_HITS ? urlWithQuery('/admin/commissions', { status: 'ALL', order: text }) : undefined,
  }
}

/** Extracts the link name from an affiliate link. Returns other text unchanged. */
function refIn(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.searchParams.get('ref') ?? text
}

/** An ID needs no search for partial names. */
const isId = (text: string): boolean => /^[a-z]{3}_/.test(text)

/** Affiliates and their codes. Exact matches are found at once; partial matches take longer in a large shop. */
async function findPeople({ ctx }: PageRequest, text: string): Promise<Found> {
  const [exact, { value: containing }] = await Promise.all([
    findExactly(ctx, text),
    readForPage(ctx, {
      key: ['search', text],
      cost: isId(text) ? undefined : rowsOf({ list: 'affiliates' }),
      read: async (readCtx) => {
        if (isId(text)) return { people: [], codes: [] }
        const page = { page: 1, limit: MAX_HITS + 1, isUncounted: true }
        const [people, codes] = await Promise.all([
          affiliates.list(readCtx, { ...page, q: text }),
          coupons.list(readCtx, { ...page, code: text }),
        ])
        return { people: people.data, codes: codes.data }
      },
    }),
  ])
  const { people = [], codes = [] } = containing ?? {}
  const unique = [...new Map([...exact, ...people].map((person) => [person.id, person])).values()]
  const kinds: Hits[] = [
    {
      kind: 'Affiliates',
      hits: unique.slice(0, MAX_HITS).map(({ id, name, email, status }) => ({
        to: `/admin/affiliates/${id}`,
        text: isolated(name),
        about: html`${isolated(email)} ${badge(status)}`,
      })),
      all: people.length > MAX_HITS ? urlWithQuery('/admin/affiliates', { q: text }) : undefined,
    },
    {
      kind: 'Coupons',
      hits: codes.slice(0, MAX_HITS).map(({ code, affiliateName }) => ({
        to: urlWithQuery('/admin/coupons', { code }),
        text: html`<code>${isolated(code)}</code>`,
        about: isolated(affiliateName),
      })),
      all: codes.length > MAX_HITS ? urlWithQuery('/admin/coupons', { code: text }) : undefined,
    },
  ]
  return { kinds, isSearching: containing === undefined }
}

async function findPayments({ ctx }: PageRequest, text: string): Promise<Hit[]> {
  const line = await payouts.findPayment(ctx, text)
  if (!line) return []
  const names = await affiliates.affiliateNames(ctx, [line.affiliateId])
  const about = html`${money(line.amountCents, line.currency)} ${badge(line.state)}`
  return [{ to: `/admin/payouts/${line.batchId}`, text: isolated(names.get(line.affiliateId) ?? text), about }]
}

async function findDeliveries({ ctx, zone }: PageRequest, text: string): Promise<Hit[]> {
  const matches = await deliveries.findById(ctx, text, MAX_HITS)
  return matches.map(({ id, event, status, createdAt }) => ({
    to: `/admin/deliveries/${id}`,
    text: html`<code>${event}</code>`,
    about: html`${time(createdAt, '', zone)} ${badge(status)}`,
  }))
}
