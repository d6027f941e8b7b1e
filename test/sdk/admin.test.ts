import { UnknownOutcomeError } from '@referral/sdk'
import { createAdminClient } from '@referral/sdk/admin'
import { expect, test } from 'vitest'
import { connectionError, errorResponse, jsonResponse } from './support/scripted-client.ts'

/** A client of the owner API whose server follows a script. */
const scripted = (steps: (Response | Error)[]) => {
  const requests: string[] = []
  const fetch = async (request: Request): Promise<Response> => {
    requests.push(`${request.method} ${new URL(request.url).pathname} ${await request.text()}`)
    const step = steps[Math.min(requests.length, steps.length) - 1]!
    if (step instanceof Error) throw step
    return step.clone()
  }
  return { admin: createAdminClient({ apiKey: 'ro_test', baseUrl: 'https://api.example', fetch }), requests }
}

test('webhooks.update changes the given fields of a subscription', async () => {
  const { admin, requests } = scripted([jsonResponse(200, { data: { id: 'whs_1', events: ['test'] } })])
  expect(await admin.webhooks.update('whs_1', { events: ['test'] })).toMatchObject({ id: 'whs_1' })
  expect(requests).toEqual(['PATCH /admin/v1/webhooks/whs_1 {"events":["test"]}'])
})

test('an update whose response was lost is recovered from the state', async () => {
  const settings = { taxWithholdingBps: 100 }
  const { admin } = scripted([
    connectionError('ECONNRESET'),
    errorResponse(409, 'concurrent_change'),
    jsonResponse(200, { data: settings }),
  ])
  const { recovered } = await admin.settings.update(settings).withResponse()
  expect(recovered).toBe(true)
})

test('the creation of a key is not repeated when its outcome is unknown', async () => {
  const { admin, requests } = scripted([connectionError('ECONNRESET')])
  const error = await admin.keys.create({ label: 'A', scopes: ['affiliates:read'] }).catch((caught: unknown) => caught)
  expect(error).toBeInstanceOf(UnknownOutcomeError)
  expect(requests).toHaveLength(1)
})

test.each([
  ['approve', 'approve'],
  ['reject', 'reject'],
  ['cancel', 'cancel'],
  ['reverse', 'reverse'],
  ['reopen', 'reopen'],
] as const)('commissions.%s calls its operation', async (method, path) => {
  const { admin, requests } = scripted([jsonResponse(200, { data: { id: 'com_1' } })])
  expect(await admin.commissions[method]('com_1')).toEqual({ id: 'com_1' })
  expect(requests).toEqual([`POST /admin/v1/commissions/com_1/${path} `])
})

test('raw methods call the other operations', async () => {
  const { admin, requests } = scripted([jsonResponse(200, { data: [] })])
  await admin.GET('/admin/v1/geo-rules')
  expect(requests).toEqual(['GET /admin/v1/geo-rules '])
})
