/** Sends a request to the API and returns the `data` of the response, or the response. */
export type Post = (method: string, path: string, body: object) => Promise<Made>

interface Made {
  id: string
}

/** What a scenario created. */
export interface Seeds {
  programId?: string
  affiliateId?: string
  /** The affiliate's discount code. */
  code?: string
  /** The affiliate's slug, for `ref`. */
  ref?: string
  /** `externalOrderId` of each order. */
  orders: string[]
}

/** The data at the start. Each scenario includes the ones before it. */
export type Scenario =
  /** A shop of the Professional plan, and a key with every scope. */
  | 'empty'
  /** A published program of 16 % that auto-approves orders, and an approved affiliate with the code NISA16. */
  | 'affiliate'
  /** Three orders of 100.00 with the code in October 2026, all approved and not paid out yet. */
  | 'orders'

const CODE = 'NISA16'

const makeAffiliate = async (post: Post, seeds: Seeds): Promise<void> => {
  const program = await post('POST', '/api/v1/programs', {
    name: 'Friends',
    commissionPercent: 16,
    autoApproveOrder: true,
    status: 'PUBLISH',
  })
  const body = { email: 'nisa@example.com', firstName: 'Nisa', lastName: 'Karim', campaignId: program.id }
  const affiliate = await post('POST', '/api/v1/affiliates', body)
  await post('POST', '/api/v1/coupons', { affiliateId: affiliate.id, code: CODE })
  await post('PATCH', `/api/v1/affiliates?id=${affiliate.id}`, { status: 'APPROVED' })
  Object.assign(seeds, { programId: program.id, affiliateId: affiliate.id, code: CODE, ref: 'nisa-karim' })
}

const makeOrders = async (post: Post, seeds: Seeds): Promise<void> => {
  for (const day of ['05', '15', '25']) {
    const externalOrderId = `order-${day}`
    const occurredAt = `2026-10-${day}T12:00:00.000Z`
    await post('POST', '/api/v1/events', { externalOrderId, amountCents: 10_000, couponCode: CODE, occurredAt })
    seeds.orders.push(externalOrderId)
  }
}

/** Creates the data of a scenario in an empty shop. */
export const makeScenario = async (scenario: Scenario, post: Post): Promise<Seeds> => {
  const seeds: Seeds = { orders: [] }
  if (scenario !== 'empty') await makeAffiliate(post, seeds)
  if (scenario === 'orders') await makeOrders(post, seeds)
  return seeds
}
