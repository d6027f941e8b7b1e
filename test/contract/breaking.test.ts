import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { document } from '../support/document.ts'
import { breakingChanges, type Json } from './breaking.ts'
import { describeChanges, RELEASED, releasedContracts } from './changes.ts'

const newest = releasedContracts().at(-1)

test(`openapi.yaml breaks nothing of ${newest}`, () => {
  const released = parse(readFileSync(`${RELEASED}${newest}`, 'utf8'))
  const changes = breakingChanges(released, document)
  const hint = 'Take these back; what was never released may be kept with `pnpm run release:contract`.'
  expect(changes, hint).toEqual([])
})

const changed = (change: (copy: Json) => void): Json => {
  const copy = structuredClone(document)
  change(copy)
  return copy
}
const schemas = (copy: Json) => copy.components.schemas
const operation = (copy: Json, method: string, path: string) => copy.paths[path][method]

describe('breaks', () => {
  test.each<[what: string, change: (copy: Json) => void, said: string]>([
    ['an operation that is gone', (copy) => delete copy.paths['/api/v1/coupons'].post, 'POST /api/v1/coupons is gone'],
    ['a path that is gone', (copy) => delete copy.paths['/api/v1/journey'], 'GET /api/v1/journey is gone'],
    [
      'an operation with another name',
      (copy) => {
        operation(copy, 'get', '/api/v1/coupons').operationId = 'coupons'
      },
      'operationId listCoupons is gone',
    ],
    [
      'another scope',
      (copy) => {
        operation(copy, 'get', '/api/v1/journey').security = [{ apiKey: ['affiliates:read'] }]
      },
      'no longer takes {"apiKey":["analytics:read"]}',
    ],
    [
      'a role less',
      (copy) => {
        operation(copy, 'get', '/admin/v1/session').security = [{ ownerToken: ['OWNER'] }, { session: ['OWNER'] }]
      },
      'no longer takes {"ownerToken":["OWNER","STAFF"]}',
    ],
    [
      'a parameter that is gone',
      (copy) => {
        const op = operation(copy, 'get', '/api/v1/affiliates')
        op.parameters = op.parameters.filter(({ name }: Json) => name !== 'q')
      },
      'GET /api/v1/affiliates: q is gone',
    ],
    [
      'a new required parameter',
      (copy) => {
        const parameter = { name: 'region', in: 'query', required: true, schema: { type: 'string' } }
        operation(copy, 'get', '/api/v1/affiliates').parameters.push(parameter)
      },
      'region is newly required',
    ],
    [
      'a new required field of a request',
      (copy) => schemas(copy).PayoutCreate.required.push('currency'),
      'POST /api/v1/payouts: body.currency is newly required',
    ],
    [
      'a field that one of several is needed of',
      (copy) => {
        const any = { anyOf: [{ type: 'object', required: ['code'], properties: { code: { type: 'string' } } }] }
        schemas(copy).CouponAssign = { allOf: [schemas(copy).CouponAssign, any] }
      },
      'POST /api/v1/coupons: body needs one of several fields',
    ],
    [
      'an alternative of a choice that is gone',
      (copy) => schemas(copy).ClickEvent.allOf[1].anyOf.pop(),
      'POST /api/v1/events: body needs one of several fields',
    ],
    [
      'a field of a request that is gone',
      (copy) => delete schemas(copy).AffiliateUpdate.properties.tiktokHandle,
      'PATCH /api/v1/affiliates: body.tiktokHandle is gone',
    ],
    [
      'a narrowed list of a request',
      (copy) => schemas(copy).AffiliateStatus.enum.pop(),
      'PATCH /api/v1/affiliates: body.status no longer takes REJECTED',
    ],
    [
      'a list where there was none',
      (copy) => {
        schemas(copy).PayoutCreate.properties.currency.enum = ['USD', null]
      },
      'body.currency no longer takes anything but USD',
    ],
    [
      'a lower maximum',
      (copy) => {
        copy.components.parameters.Limit.schema.maximum = 50
      },
      'GET /api/v1/affiliates: limit is held to maximum 50',
    ],
    [
      'a bound where there was none',
      (copy) => {
        schemas(copy).WebhookCreate.allOf[0].properties.events.maxItems = 5
      },
      'POST /api/v1/webhooks: body.events is held to maxItems 5',
    ],
    [
      'another pattern',
      (copy) => {
        schemas(copy).CouponAssign.properties.code.pattern = '^[A-Z]+$'
      },
      'body.code is held to pattern ^[A-Z]+$',
    ],
    [
      'a request that may no longer be null',
      (copy) => {
        schemas(copy).AffiliateUpdate.properties.phone.type = 'string'
      },
      'body.phone is no longer null',
    ],
    [
      'another default',
      (copy) => {
        copy.components.parameters.Limit.schema.default = 10
      },
      'GET /api/v1/coupons: limit is no longer 20 when omitted',
    ],
    [
      'a field of a response that is gone',
      (copy) => {
        const { properties, required } = schemas(copy).Affiliate
        delete properties.slug
        required.splice(required.indexOf('slug'), 1)
      },
      'GET /api/v1/affiliates: 200.data[].slug is gone',
    ],
    [
      'a field of a response that may be missing',
      (copy) => schemas(copy).Pagination.required.pop(),
      'GET /api/v1/coupons: 200.pagination.totalPages may now be missing',
    ],
    [
      'a type of a response',
      (copy) => {
        schemas(copy).Cents.type = 'number'
      },
      'GET /api/v1/commissions: 200.data[].commissionAmountCents may now be number',
    ],
    [
      'a response that may be null',
      (copy) => {
        schemas(copy).Affiliate.properties.email.type = ['string', 'null']
      },
      '200.data[].email may now be null',
    ],
    [
      'a value more in a closed list of a response',
      (copy) => schemas(copy).PayoutBatchStatus.enum.push('HELD'),
      'GET /api/v1/payouts: 200.data[].status may now be HELD',
    ],
    [
      'a field more in a closed object',
      (copy) => {
        schemas(copy).ErrorBody.properties.hint = { type: 'string' }
      },
      '400.hint is new in an object that was closed',
    ],
    [
      'a success with another status',
      (copy) => {
        const { responses } = operation(copy, 'post', '/api/v1/programs')
        responses['200'] = responses['201']
        delete responses['201']
      },
      'POST /api/v1/programs: no longer answers 201',
    ],
    [
      'a header that is gone',
      (copy) => delete operation(copy, 'get', '/api/v1/programs').responses['200'].headers['X-RateLimit-Reset'],
      '200 is without X-RateLimit-Reset',
    ],
    [
      'a webhook that is gone',
      (copy) => delete copy.webhooks['commission.created'],
      'webhook commission.created: is gone',
    ],
    [
      'a field of a webhook that is gone',
      (copy) => delete schemas(copy).CommissionCreatedEvent.properties.shop_id,
      'webhook commission.created: body.shop_id is gone',
    ],
    [
      'a schema with another name',
      (copy) => {
        schemas(copy).Failure = schemas(copy).ErrorBody
        delete schemas(copy).ErrorBody
        const text = JSON.stringify(copy).replaceAll('schemas/ErrorBody"', 'schemas/Failure"')
        Object.assign(copy, JSON.parse(text))
      },
      'schema ErrorBody is gone',
    ],
  ])('%s', (_, change, said) => {
    expect(breakingChanges(document, changed(change))).toContainEqual(expect.stringContaining(said))
  })

  test('a deprecated operation that goes before its sunset', () => {
    const before = changed((copy) => {
      const dates = { deprecated: true, 'x-deprecated-since': '2027-01-01', 'x-sunset': '2027-12-01' }
      Object.assign(operation(copy, 'get', '/api/v1/journey'), dates)
    })
    const after = changed((copy) => delete copy.paths['/api/v1/journey'])
    expect(breakingChanges(before, after, '2027-06-01')).toContain('GET /api/v1/journey is gone')
    expect(breakingChanges(before, after, '2027-12-02')).not.toContain('GET /api/v1/journey is gone')
  })
})

describe('does not break', () => {
  test.each<[what: string, change: (copy: Json) => void]>([
    ['nothing at all', () => {}],
    [
      'an operation more',
      (copy) => {
        copy.paths['/api/v1/more'] = copy.paths['/api/v1/coupons']
      },
    ],
    [
      'an optional parameter more',
      (copy) => {
        const parameter = { name: 'region', in: 'query', schema: { type: 'string' } }
        operation(copy, 'get', '/api/v1/affiliates').parameters.push(parameter)
      },
    ],
    [
      'an optional field of a request more',
      (copy) => {
        schemas(copy).PayoutCreate.properties.note = { type: 'string', maxLength: 10 }
      },
    ],
    [
      'a field of a response more',
      (copy) => {
        schemas(copy).Affiliate.properties.nickname = { type: 'string' }
        schemas(copy).Affiliate.required.push('nickname')
      },
    ],
    ['a value more in an open list', (copy) => schemas(copy).ReasonCode.enum.push('LUCK')],
    [
      'a higher maximum',
      (copy) => {
        copy.components.parameters.Limit.schema.maximum = 500
      },
    ],
    [
      'a field that is no longer required',
      (copy) => {
        schemas(copy).PayoutCreate.required = ['periodStart']
      },
    ],
    [
      'an alternative of a choice more',
      (copy) => {
        const one = { type: 'object', required: ['sessionId'], properties: { sessionId: { type: 'string' } } }
        schemas(copy).ClickEvent.allOf[1].anyOf.push(one)
      },
    ],
    [
      'another kind of event to report',
      (copy) => {
        const signUp = {
          type: 'object',
          required: ['type'],
          properties: { type: { type: 'string', const: 'sign_up' } },
        }
        operation(copy, 'post', '/api/v1/events').requestBody.content['application/json'].schema.anyOf.push(signUp)
      },
    ],
    [
      'a request that may also be null',
      (copy) => {
        schemas(copy).AffiliateUpdate.properties.name.type = ['string', 'null']
      },
    ],
    [
      'a response that is no longer null',
      (copy) => {
        schemas(copy).Affiliate.properties.phone.type = 'string'
      },
    ],
    [
      'an error more',
      (copy) => {
        operation(copy, 'get', '/api/v1/programs').responses['404'] = { description: 'None.' }
      },
    ],
    [
      'a webhook more',
      (copy) => {
        copy.webhooks['payout.completed'] = copy.webhooks['commission.created']
      },
    ],
    [
      'other words',
      (copy) => {
        schemas(copy).Affiliate.properties.slug.description = 'Other words.'
        operation(copy, 'get', '/api/v1/programs').summary = 'Other words'
      },
    ],
    [
      'a body that is put together otherwise',
      (copy) => {
        const [object, ...choices] = schemas(copy).AffiliateCreate.allOf
        schemas(copy).AffiliateCreate = { ...object, allOf: choices }
      },
    ],
  ])('%s', (_, change) => {
    expect(breakingChanges(document, changed(change))).toEqual([])
  })
})

test('the changes of a contract are described for people', () => {
  expect(describeChanges(document, document)).toBe('# Changes of the contract\n\nNone.\n')
  const earlier = changed((copy) => {
    copy.paths['/api/v1/legacy'] = { get: operation(copy, 'get', '/api/v1/shop') }
    delete copy.paths['/api/v1/coupons'].post
    const list = operation(copy, 'get', '/api/v1/affiliates')
    list.parameters = list.parameters.filter(({ name }: Json) => name !== 'q')
    delete schemas(copy).ShopInfo.properties.isTest
    schemas(copy).ErrorCode.enum = schemas(copy).ErrorCode.enum.filter((code: string) => code !== 'email_taken')
    delete copy.webhooks['payout.failed']
  })
  expect(describeChanges(earlier, document)).toBe(`# Changes of the contract

## Breaking

- GET /api/v1/legacy is gone

## Added

- \`GET /api/v1/affiliates\` accepts \`q\`
- \`POST /api/v1/coupons\`: Assign a discount code to an affiliate
- \`ErrorCode\` can be \`email_taken\`
- \`ShopInfo\` has \`isTest\`
- webhook \`payout.failed\`
`)
})
