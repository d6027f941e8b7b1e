import { expect } from 'vitest'
import { noticeOf, visitorOf } from '../dashboard/visitor.ts'
import { expectOk, newAffiliate } from '../support/shop.ts'
import { testWithNewShop as test } from '../support/test.ts'

test('an owner revokes all tokens and links of an affiliate at once, and new ones work', async ({ server, owner }) => {
  const { id } = await newAffiliate(server, { name: 'Mara', email: 'mara@example.com', code: 'MARA9' })
  const other = await newAffiliate(server, { name: 'Noor', email: 'noor@example.com', code: 'NEER9' })
  const page = visitorOf(server)
  await page.signIn(server.shop.ownerToken)
  const path = `/admin/affiliates/${id}`
  /** The secret that the page shows once. */
  const shown = async (): Promise<string> => {
    const { text } = await page.open(path)
    expect((await page.open(path)).text).not.toContain('class="secret"')
    return /<code id="secret"[^>]*>([^<]+)</.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? ''
  }
  const readWith = async (key: string) => (await server.request('GET', '/api/v1/affiliates/balance', { key })).status

  await page.submit(`${path}/tokens`, [['expiresInSeconds', '86400']])
  const token = await shown()
  await page.submit(`${path}/link`, [['hours', '24']])
  const link = (await shown()).replace(/^http:..[^/]+/, '')
  const { token: ofOther } = await expectOk(owner('POST', `/affiliates/${other.id}/tokens`, {}))
  expect([await readWith(token), await readWith(ofOther)]).toEqual([200, 200])
  expect((await page.open(link)).status).toBe(200)

  await page.submit(`${path}/tokens/revoke`)
  expect(noticeOf(await page.open(path))).toBe('Links and tokens revoked.')
  const revoked = await server.request('GET', '/api/v1/affiliates/balance', { key: token })
  expect([revoked.status, revoked.headers.get('X-Error-Code')]).toEqual([403, 'key_revoked'])
  expect((await page.open(link)).status).toBe(401)
  expect(await readWith(ofOther)).toBe(200)

  // Even in the same millisecond.
  const { token: next } = await expectOk(owner('POST', `/affiliates/${id}/tokens`, { expiresInSeconds: 60 }))
  expect(await readWith(next)).toBe(200)
  await expectOk(owner('DELETE', `/affiliates/${id}/tokens`))
  expect(await readWith(next)).toBe(403)
})
