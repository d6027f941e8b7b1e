export type Api = (method: string, path: string, body?: object) => Promise<{ id: string } & Record<string, string>>

export const SCOPES = (
  'affiliates:read affiliates:write commissions:read coupons:read coupons:write payouts:read payouts:write ' +
  'programs:read programs:write analytics:read events:write webhooks:read webhooks:write'
).split(' ')

/** A shop as it looks after a quarter: names in many scripts, two currencies, refunds, payouts in every state. */
const DAY_MS = 86_400_000
const NAMES = [
  'Nisa Karim',
  'Maëlle Le Gouëllec-Châtaigneraie',
  'Iván Núñez',
  'Zoë van der Meijden-Oosterhuis',
  'Aiko 田中',
  'Priya Raghunathan',
  'Łukasz Wiśniewski',
  'Omar Haddad',
  'سارة المنصوري',
  'Björn Åkesson',
  'Chidi Okafor',
  'Hạnh Nguyễn',
  'Jean-François Baptiste de la Rochefoucauld-Montmorency',
  'Sanna Lindqvist',
  'The Outdoor Gear Laboratory (editorial team)',
  'Ben Ó Súilleabháin',
  'Ελένη Παπαδοπούλου',
  'Tom Brown',
]
const FIRST = ['Lena', 'Hugo', 'Zora', 'Émile', 'Petra', 'Noor', 'Tomáš', 'Freya', 'Mateus', 'Júlia', 'Kofi', 'Ingrid']
const LAST = ['Weber', 'Novák', 'Moreau', 'Silva', 'Rao', 'Østergaard', 'Kovačević', 'Brown', 'García', 'Yıldız']
const PAGES = ['/', '/collections/trail-running', '/products/merino-beanie', '/journal/winter-layers', '/sale']
const SOURCES = ['instagram', 'newsletter', 'youtube', 'tiktok', '']
const IBANS = [
  'DE89370400440532013000',
  'FR1420041010050500013M02606',
  'NL91ABNA0417164300',
  'ES9121000418450200051332',
]

/** A deterministic generator, so that two runs show the same pages. */
function generator(seed: number) {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 4_294_967_296
  }
}

interface Made {
  id: string
}

async function each<T>(list: readonly T[], work: (one: T, index: number) => Promise<unknown>): Promise<void> {
  const queue = list.map((one, index) => [one, index] as const)
  const lane = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) await work(...next)
  }
  await Promise.all(Array.from({ length: 8 }, lane))
}

/** Those who await approval are the newest; the others joined in the year before. */
export function joinDates(affiliates: { id: string; status: string }[]): { id: string; joinedAt: string }[] {
  const next = generator(11)
  return affiliates.map(({ id, status }, n) => {
    const days = n < 12 ? 180 + next() * 220 : status === 'PENDING' ? next() ** 2 * 12 : 4 + next() ** 1.4 * 390
    return { id, joinedAt: new Date(Date.now() - days * DAY_MS).toISOString() }
  })
}

export async function fillShop({ api, owner }: { api: Api; owner: Api }, hooks: { good: string; bad: string }) {
  const next = generator(7)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T
  const ago = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString()

  await owner('PATCH', '/settings', {
    timeZone: 'Europe/Berlin',
    minimumPayoutCents: 2500,
    minimumAffiliatePayoutCentsByCurrency: { USD: 1000, EUR: 1000 },
    taxWithholdingBps: 1500,
    storeDomain: 'nordwand-outfitters.myshopify.com',
  })
  const programs: Made[] = []
  for (const body of [
    { name: 'Ambassadors', commissionPercent: 12, autoApproveOrder: true, description: 'Athletes and guides.' },
    { name: 'Creators: autumn and winter collection 2026', commissionPercent: 8.5, cookieDurationDays: 60 },
    { name: 'Refer a friend', commissionType: 'FLAT_PER_ORDER', commissionPercent: 5, autoApproveOrder: true },
    { name: 'Wholesale partners', commissionPercent: 4, status: 'DRAFT' },
  ])
    programs.push(await api('POST', '/programs', { status: 'PUBLISH', ...body }))
  const [ambassadors, creators, friends] = programs as [Made, Made, Made]
  await owner('POST', '/product-rules', {
    programId: ambassadors.id,
    kind: 'product',
    value: '7001',
    commissionPercent: 20,
  })
  await owner('PUT', `/geo-rules/${creators.id}`, { countries: ['DE', 'AT', 'CH', 'FR', 'NL'] })

  const affiliates: (Made & { slug: string; discountCode: string })[] = []
  const people = Array.from({ length: 340 }, (_, n) => NAMES[n] ?? `${pick(FIRST)} ${pick(LAST)}`)
  const programOf = (n: number) => [ambassadors, creators, friends, ambassadors][n % 4]!.id
  await each(people, async (name, n) => {
    const email = n === 12 ? 'jean-francois.baptiste@a-rather-long-company-name.example' : `partner${n}@example.com`
    const one = (await api('POST', '/affiliates', {
      email,
      name,
      campaignId: programOf(n),
    })) as unknown as (typeof affiliates)[number]
    affiliates[n] = one
    const status = n < 300 ? 'APPROVED' : n < 330 ? null : 'REJECTED'
    if (status) await api('PATCH', `/affiliates?id=${one.id}`, { status })
  })
  await api('PATCH', `/affiliates?id=${affiliates[0]!.id}`, {
    phone: '+49 30 1234567',
    website: 'https://nisakarim.example/gear',
    instagramHandle: 'nisa.outside',
    homeCity: 'Berlin',
    homePostalCode: '10827',
    homeAddress: 'Hauptstraße 12',
    homeCountry: 'Germany',
  })
  const [nisa, maelle] = [affiliates[0]!, affiliates[1]!]
  await api('POST', '/coupons', { affiliateId: nisa.id, code: 'NISA16' })
  affiliates[0]!.discountCode = 'NISA16'
  await api('POST', '/affiliates/aliases', { affiliateId: nisa.id, kind: 'CODE', value: 'SARAH10' })
  await api('POST', '/affiliates/aliases', {
    affiliateId: nisa.id,
    kind: 'LINK',
    value: 'nisa-old-link-of-another-system',
  })
  await owner('POST', '/connections', { affiliateId: nisa.id, kind: 'customerEmail', value: 'ada@example.com' })
  await owner('POST', '/connections', { affiliateId: nisa.id, kind: 'product', value: '7001' })

  const skewed = () => affiliates[Math.floor(next() ** 2.5 * 300)]!
  const clicks = Array.from({ length: 1500 }, () => {
    const one = skewed()
    const url = `https://nordwand.example${pick(PAGES)}?ref=${one.slug}`
    const campaign = pick(SOURCES)
    return {
      type: 'click',
      ref: one.slug,
      url,
      landingPage: url,
      country: pick(['DE', 'US', 'FR', 'JP']),
      device: pick(['mobile', 'mobile', 'desktop']),
      ...(campaign && { utmSource: campaign, utmMedium: 'social' }),
      occurredAt: ago(next() ** 1.3 * 62),
    }
  })
  for (const [n, days] of [9, 6, 2.5].entries())
    clicks.push({ ...clicks[n]!, sessionId: 's-ada', customerEmail: 'ada@example.com', occurredAt: ago(days) } as never)
  await each(clicks, (click) => api('POST', '/events', click))

  const orders = Array.from({ length: 720 }, (_, n) => {
    const one = skewed()
    const day = n < 40 ? next() * 2 : 1 + next() ** 1.2 * 66
    const evidence = n % 11 === 5 ? {} : n % 3 ? { couponCode: one.discountCode } : { ref: one.slug }
    return {
      type: 'conversion',
      externalOrderId: String(5_551_000_000 + n * 13),
      orderName: `#${2000 + n}`,
      amountCents: Math.round(2500 + next() ** 3 * 90_000),
      discountCents: n % 4 ? 0 : 500,
      shippingCents: 690,
      currency: n % 5 === 0 ? 'EUR' : 'USD',
      customerEmail: n % 97 === 3 ? 'ada@example.com' : `customer${n}@example.com`,
      shipping: { country: n % 9 === 4 ? 'US' : 'DE' },
      ...evidence,
      occurredAt: ago(day),
    }
  })
  orders.push({
    ...orders[1]!,
    externalOrderId: '5559000001',
    orderName: '#2720',
    couponCode: 'NISA16',
    lineItems: [
      { productId: '7001', variantId: '9001', quantity: 2, priceCents: 8900, title: 'Merino beanie' },
      { productId: '7002', variantId: '9002', quantity: 1, priceCents: 24_900, title: 'Shell jacket' },
    ],
    amountCents: 42_700,
    discountCents: 2000,
    occurredAt: ago(1.2),
  } as never)
  await each(orders, (order) => api('POST', '/events', order))
  const refundOf = (n: number, amountCents: number) => ({
    externalOrderId: orders[n]!.externalOrderId,
    externalRefundId: `re-${n}`,
    amountCents,
    currency: orders[n]!.currency,
    reason: pick(['Wrong size', 'Damaged in transit', 'Changed mind']),
  })
  await each([60, 61, 65, 70, 77, 81], (n) => api('POST', '/refunds', refundOf(n, 1500)))
  await each([90, 96], (n) => api('POST', '/cancellations', { externalOrderId: orders[n]!.externalOrderId }))
  await api('POST', '/refunds', refundOf(720, 8900))

  for (let n = 0; n < 60; n++) {
    const account = { name: people[n]!.replace(/[^\p{Script=Latin} -]/gu, '').trim() || 'Account holder' }
    const payee =
      n % 7 === 3
        ? undefined
        : n % 3 === 0
          ? { method: 'PAYPAL', email: `paypal${n}@example.com` }
          : n % 3 === 1
            ? { method: 'WISE', email: `wise${n}@example.com`, ...account }
            : { method: 'SEPA', iban: IBANS[n % 4], townName: 'Berlin', country: 'DE', ...account }
    if (payee) await owner('PUT', `/affiliates/${affiliates[n]!.id}/payee`, payee)
  }
  await owner('POST', '/commissions/moderate', {
    action: 'approve',
    filter: { status: 'PENDING', programId: creators.id, to: ago(20) },
  })
  const batch = (from: number, to: number, currency: string) =>
    api('POST', '/payouts', { periodStart: ago(from), periodEnd: ago(to), currency })
  const first = (await batch(90, 50, 'USD')) as unknown as Made & { totals: { netPayableCents: number } }
  await api('PATCH', `/payouts?id=${first.id}&action=pay&expectedTotalCents=${first.totals.netPayableCents}`)
  const second = await batch(50, 25, 'USD')
  const euros = await batch(90, 25, 'EUR')
  const canceled = await batch(25, 15, 'USD')
  await owner('POST', `/payouts/${canceled.id}/cancel`)
  await owner('PUT', '/payout-files/october-paypal', { batchId: second.id, format: 'paypal' })
  await owner('PUT', '/payout-files/october-wise', { batchId: second.id, format: 'wise' })
  const lines = (await owner('GET', '/payout-files/october-paypal/lines')) as unknown as { paymentReference: string }[]
  await owner('POST', '/payout-lines/reconcile', {
    results: lines.slice(0, 4).map(({ paymentReference }, n) => ({
      paymentReference,
      outcome: n === 3 ? 'RETURNED' : 'SETTLED',
      reference: `9PE35473MC41699${n}Y`,
      date: ago(1).slice(0, 10),
      ...(n === 3 && { reason: 'The account is closed.' }),
    })),
  })

  await api('POST', '/webhooks', { url: hooks.good, secret: 'hush-hush-hush', retryPolicy: 'standard' })
  await api('POST', '/webhooks', { url: hooks.bad, events: ['commission.created', 'payout.paid'] })
  await each(Array.from({ length: 12 }), async (_, n) =>
    api('POST', '/events', {
      externalOrderId: `55600000${n + 10}`,
      orderName: `#${2721 + n}`,
      amountCents: 3900 + n * 450,
      couponCode: affiliates[n]!.discountCode,
      occurredAt: ago(0.01 * n),
    }),
  )
  await api('POST', '/webhooks?test=1', { url: hooks.good })
  await owner('POST', '/keys', { label: 'Checkout', scopes: ['events:write', 'coupons:read'] })
  await owner('POST', '/keys', { label: 'Data warehouse (nightly export, reads everything)', scopes: SCOPES })
  const old = await owner('POST', '/keys', { label: 'Zapier', scopes: ['affiliates:read'] })
  await owner('DELETE', `/keys/${old.id}`)
  // After the orders, so that the page of an archived affiliate has figures.
  await api('DELETE', `/affiliates?id=${affiliates[40]!.id}`)
  return {
    nisa,
    maelle,
    archived: affiliates[40]!,
    rejected: affiliates[335]!,
    batch: second,
    euros,
    orderName: '#2720',
  }
}
