import { type Define, group } from '../check.ts'
import { operations } from '../generated/contract.ts'

/** The operations that the checks request. */
const OPERATIONS = [
  'listAffiliates',
  'createAffiliate',
  'updateAffiliate',
  'archiveAffiliate',
  'listPrograms',
  'createProgram',
  'updateProgram',
  'getProgramTerms',
  'setProgramTerms',
  'listCommissions',
  'listPayouts',
  'createPayout',
  'payPayout',
  'listCustomers',
  'createCustomer',
  'unbindCustomer',
  'listCoupons',
  'assignCoupon',
  'getAnalytics',
  'getJourney',
  'listWebhooks',
  'createWebhook',
  'deleteWebhook',
  'listWebhookEvents',
  'recordEvent',
  'listOrders',
  'getOrderExplanation',
  'getSession',
  'listKeys',
  'createKey',
  'revokeKey',
  'rotateKey',
  'getSettings',
  'updateSettings',
  'listConnections',
  'createConnection',
  'deleteConnection',
  'listProductRules',
  'createProductRule',
  'deleteProductRule',
  'listGeoRules',
  'setGeoRule',
  'deleteGeoRule',
  'approveCommission',
  'rejectCommission',
  'cancelCommission',
  'reverseCommission',
  'reopenCommission',
  'refundCommission',
  'moderateCommissions',
  'cancelPayout',
  'explainOrder',
  'listAudit',
  'listDeliveries',
  'updateWebhook',
]

const define = (prefix: string) => (rule: Define) => {
  for (const [id, { method, path }] of Object.entries(operations)) {
    if (!path.startsWith(prefix) || !OPERATIONS.includes(id)) continue
    rule(
      id,
      `Each successful response of ${method} ${path} has every field of the document, with its type`,
      async (t) => {
        if (!t.seen.operations.has(id)) t.skip('no response of this operation was received')
        const found = t.seen.operations.get(id)
        t.ok(found === undefined, String(found))
      },
    )
  }
}

const page = 'reference/index.md'

/** Each response has the documented fields. They run last. */
export const schemas = group('schema', { title: 'Fields of responses', page, isExclusive: true }, define('/api/v1/'))
export const ownerSchemas = group(
  'owner-schema',
  { title: 'Fields of responses to owners', page, suite: 'owner', needs: ['owner'], isExclusive: true },
  define('/admin/v1/'),
)
