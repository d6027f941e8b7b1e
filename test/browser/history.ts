import type { Stage } from './fixture.ts'

const DAY_MS = 86_400_000
const HOSTILE = 'Mira <b>Olsen</b> & <script>alert(1)</script>'

/** Three weeks of clicks and orders; those of one affiliate wait for approval. */
export async function makeHistory({ api }: Stage): Promise<void> {
  const ago = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString()
  const must = async (method: string, path: string, body: object) => {
    const reply = await api(method, path, body)
    if (reply.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(reply.body)}`)
    return reply.body.data ?? reply.body
  }
  const { id: campaignId } = await must('POST', '/programs', {
    name: 'By hand',
    status: 'PUBLISH',
    commissionPercent: 10,
  })
  const { id } = await must('POST', '/affiliates', { email: 'mira@example.com', name: HOSTILE, campaignId })
  await must('POST', '/coupons', { affiliateId: id, code: 'MIRA9' })
  await must('PATCH', `/affiliates?id=${id}`, { status: 'APPROVED' })
  // One customer with a journey that can be shown at a glance, and a crowd.
  const who = (n: number) => ({
    sessionId: `s-${n % 6}`,
    customerEmail: n % 6 ? `c${n}@example.com` : 'ada@example.com',
  })
  const clicks = Array.from({ length: 24 }, (_, n) => {
    const page = { url: `https://shop.example/hats?n=${n}&x=<b>`, country: 'US', utmSource: 'news' }
    return { type: 'click', ref: 'nisa-karim', ...who(n), ...page, occurredAt: ago((n * n) % 21) }
  })
  const orders = Array.from({ length: 12 }, (_, n) => {
    const couponCode = n % 2 ? 'NISA16' : 'MIRA9'
    const amounts = { amountCents: 4000 + ((n * 7331) % 90_000), discountCents: 500 }
    return {
      type: 'conversion',
      externalOrderId: `A-${1000 + n}`,
      couponCode,
      ...who(n),
      ...amounts,
      occurredAt: ago(n * 2),
    }
  })
  await Promise.all([...clicks, ...orders].map((event) => must('POST', '/events', event)))
  await must('POST', '/events', { externalOrderId: 'W-1', amountCents: 12_345, couponCode: 'MIRA9', ref: 'nisa-karim' })
}
