import { expect } from 'vitest'
import type { components } from '../../server/src/contract/schema.d.ts'
import { checks } from '../conformance/src/index.ts'
import { document } from '../support/document.ts'
import { test } from '../support/test.ts'

type Schemas = components['schemas']
type Named = 'CommissionStatus' | 'PayoutBatchStatus' | 'AffiliateStatus' | 'ProgramStatus'

/** The rule that shows each status, or null for one that is reserved. The compiler asks for one when a status is added. */
const SHOWN: { [Name in Named]: Record<Schemas[Name], string | null> } = {
  CommissionStatus: {
    PENDING: 'moderation/from-pending',
    APPROVED: 'moderation/from-approved',
    ACCEPTED: null,
    PAYABLE: 'moderation/from-payable',
    PAID: 'moderation/from-paid',
    REJECTED: 'moderation/from-rejected',
    CANCELED: 'moderation/from-canceled',
    REVERSED: 'moderation/from-reversed',
    REFUNDED: 'moderation/from-refunded',
  },
  PayoutBatchStatus: {
    OPEN: 'payouts/created',
    // While a large batch is paid: test/payouts/steps.test.ts.
    PROCESSING: 'payouts/paid',
    PAID: 'payouts/paid',
    FAILED: 'moderation/cancel-batch',
  },
  AffiliateStatus: {
    PENDING: 'affiliates/every-status',
    ACTIVE: 'affiliates/every-status',
    APPROVED: 'affiliates/every-status',
    REJECTED: 'affiliates/every-status',
  },
  ProgramStatus: {
    DRAFT: 'amounts/any-program-status',
    PRIVATE: 'amounts/any-program-status',
    PUBLISH: 'programs/as-sent',
  },
}

test('every status has a rule that shows it, or is documented as reserved', () => {
  const names = new Set(checks.map(({ name }) => name))
  const unknown = Object.entries(SHOWN).flatMap(([schema, statuses]) =>
    Object.entries(statuses).filter(([status, rule]) =>
      rule ? !names.has(rule) : !document.components.schemas[schema].description.includes(`\`${status}\` is reserved`),
    ),
  )
  expect(unknown).toEqual([])
})
