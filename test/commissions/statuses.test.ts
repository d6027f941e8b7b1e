import { expect } from 'vitest'
import type { components } from '../../server/src/contract/schema.d.ts'
import { document } from '../support/document.ts'
import { updateRows } from '../support/inspect.ts'
import { expectOk } from '../support/shop.ts'
import { test } from '../support/test.ts'
import { Till } from './money.ts'

type Schemas = components['schemas']
/** What leads to a status, and the status that the API shows then; null for a status that is documented as reserved. */
type Causes<Status extends string> = Record<Status, [cause: string, (till: Till) => Promise<Status>] | null>

const commission = async (till: Till, cause: (id: string) => Promise<unknown> = async () => undefined) => {
  const id = await till.order()
  await cause(id)
  return (await till.row(id)).orderStatus as Schemas['CommissionStatus']
}
const paid = async (till: Till) => expectOk(till.pay((await expectOk(till.batch())).id))

/** The compiler asks for a cause when a status is added. */
const COMMISSIONS: Causes<Schemas['CommissionStatus']> = {
  PENDING: [
    'an order of a program without automatic approval',
    async (till) => {
      await till.affiliate('LATER', { autoApproveOrder: false })
      const id = await till.order({ couponCode: 'LATER' })
      return (await till.row(id)).orderStatus as Schemas['CommissionStatus']
    },
  ],
  APPROVED: ['an order of a program with automatic approval', (till) => commission(till)],
  ACCEPTED: null,
  PAYABLE: ['a batch', (till) => commission(till, () => expectOk(till.batch()))],
  PAID: ['a paid batch', (till) => commission(till, () => paid(till))],
  REJECTED: ['a rejection', (till) => commission(till, (id) => expectOk(till.act('reject', id)))],
  CANCELED: ['a cancellation', (till) => commission(till, (id) => expectOk(till.act('cancel', id)))],
  REVERSED: [
    'a reversal after the payment',
    (till) =>
      commission(till, async (id) => {
        await paid(till)
        await expectOk(till.act('reverse', id))
      }),
  ],
  REFUNDED: ['a refund of everything', (till) => commission(till, (id) => expectOk(till.refund(id, 'all')))],
}

const batch = async (till: Till, cause: (id: string) => Promise<unknown> = async () => undefined) => {
  await till.order()
  const { id } = await expectOk(till.batch())
  await cause(id)
  return (await till.batchOf(id)).status as Schemas['PayoutBatchStatus']
}

/** As a process leaves a large batch that dies; steps.test.ts shows how it does. */
const beginPaying = ({ server }: Till, id: string) =>
  updateRows(server, 'payoutBatches', { status: 'PROCESSING' }, { id })

const BATCHES: Causes<Schemas['PayoutBatchStatus']> = {
  OPEN: ['its creation', (till) => batch(till)],
  PROCESSING: ['the start of its payment', (till) => batch(till, async (id) => beginPaying(till, id))],
  PAID: ['its payment', (till) => batch(till, (id) => expectOk(till.pay(id)))],
  FAILED: ['its cancellation', (till) => batch(till, (id) => expectOk(till.cancelBatch(id)))],
}

const affiliate = async (till: Till, status: Schemas['AffiliateStatus']) => {
  const { key } = till.shop
  const body = { email: 'status@example.com', name: 'S' }
  const { id } = await expectOk(till.server.request('POST', '/api/v1/affiliates', { key, body }))
  const path = `/api/v1/affiliates?id=${id}`
  return (await expectOk(till.server.request('PATCH', path, { key, body: { status } }))).status
}
const AFFILIATES: Causes<Schemas['AffiliateStatus']> = {
  PENDING: ['a change to PENDING', (till) => affiliate(till, 'PENDING')],
  ACTIVE: ['a change to ACTIVE', (till) => affiliate(till, 'ACTIVE')],
  APPROVED: ['a change to APPROVED', (till) => affiliate(till, 'APPROVED')],
  REJECTED: ['a change to REJECTED', (till) => affiliate(till, 'REJECTED')],
}

const program = async (till: Till, status: Schemas['ProgramStatus']) => {
  const body = { name: 'P', status }
  return (await expectOk(till.server.request('POST', '/api/v1/programs', { key: till.shop.key, body }))).status
}
const PROGRAMS: Causes<Schemas['ProgramStatus']> = {
  DRAFT: ['a creation as DRAFT', (till) => program(till, 'DRAFT')],
  PRIVATE: ['a creation as PRIVATE', (till) => program(till, 'PRIVATE')],
  PUBLISH: ['a creation as PUBLISH', (till) => program(till, 'PUBLISH')],
}

const all = {
  CommissionStatus: COMMISSIONS,
  PayoutBatchStatus: BATCHES,
  AffiliateStatus: AFFILIATES,
  ProgramStatus: PROGRAMS,
}

for (const [name, causes] of Object.entries(all)) {
  for (const [status, given] of Object.entries<Causes<string>[string]>(causes)) {
    if (given)
      test(`${name} ${status} after ${given[0]}`, async ({ server }) => {
        const till = new Till(server, await server.createShop())
        await till.affiliate()
        expect(await given[1](till)).toBe(status)
      })
    else
      test(`${name} ${status} is documented as reserved`, () => {
        expect(document.components.schemas[name].description).toContain(`\`${status}\` is reserved`)
      })
  }
}
