import { type Define, group } from '../check.ts'
import type { Json } from '../context.ts'
import { goods } from './owner.ts'

export const accounts = group(
  'accounts',
  { title: 'Accounts', page: 'concepts/index.md#access', suite: 'owner', needs: ['owner'] },
  (rule) => {
    rule('session', 'A session reads with its cookie, changes with its CSRF token, and ends at once', async (t) => {
      const body = { token: t.shop.ownerToken }
      const reply = await t.call('POST', '/admin/v1/session', { key: null, body })
      const { csrfToken } = t.expect(reply, 201).data
      const [Cookie = ''] = (reply.headers.get('Set-Cookie') ?? '').split(';')
      const call = (method: string, headers: Json = {}) =>
        t.call(method, '/admin/v1/session', { key: null, headers: { Cookie, ...headers } })
      t.equal(t.expect(await call('GET'), 200).data.csrfToken, csrfToken, 'csrfToken')
      t.expect(await call('DELETE'), 403, 'csrf_token_invalid')
      t.expect(await call('DELETE', { 'X-CSRF-Token': csrfToken, Origin: 'https://evil.example' }), 403)
      t.expect(await call('DELETE', { 'X-CSRF-Token': csrfToken }), 200)
      t.expect(await call('GET'), 401, 'session_expired')
    })
    rule(
      'test-shop',
      'A test shop has credentials and a clock of its own, and ends when it is deleted',
      async (t) => {
        if (t.shop.isTestShop) t.skip('a test shop has no test shops')
        const shop = t.expect(await t.owner('POST', '/test-shops', { name: t.id('shop') }), 201).data
        const path = `/test-shops/${shop.id}`
        const key = shop.apiKey
        try {
          t.equal(t.expect(await t.get('/programs', {}, { key }), 200).data, [], 'the programs')
          const { now } = t.expect(await t.owner('POST', `${path}/clock`, { to: '2099-01-01' }), 200).data
          t.ok(String(now).startsWith('2099-01-01T00:0'), `now is ${now}`)
          t.expect(await t.owner('POST', `${path}/clock`, { to: '2098-01-01' }), 400, 'invalid_body')
          const listed = t.expect(await t.owner('GET', '/test-shops'), 200).data
          t.ok(
            listed.some(({ id }: Json) => id === shop.id),
            'the test shop is not listed',
          )
        } finally {
          t.expect(await t.owner('DELETE', path), 200)
        }
        t.expect(await t.get('/programs', {}, { key }), 403)
        t.expect(await t.owner('DELETE', path), 404, 'test_shop_not_found')
      },
      { page: 'concepts/test-shops.md' },
    )
    rule('audit-export', 'The export of the audit has a row for each number, and ends with the last one', async (t) => {
      const [latest] = t.expect(await t.owner('GET', '/audit', undefined, { limit: 1 }), 200).data
      const after = latest.seq - 1
      const { text } = await t.owner('GET', '/audit/export', undefined, { after })
      const [first, ...lines] = text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
      const { end } = lines.pop() ?? {}
      t.equal([first.export, first.after.seq, lines[0]?.seq], ['audit', after, latest.seq], 'the first lines')
      t.equal(
        lines.map(({ seq }) => seq),
        lines.map((_, n) => latest.seq + n),
        'seq',
      )
      t.equal(end, { seq: lines.at(-1)?.seq, hash: lines.at(-1)?.hash }, 'end')
    })
    affiliates(rule)
    privacy(rule)
  },
)

function affiliates(rule: Define): void {
  const page = 'reference/conformance.md#affiliates'
  rule(
    'unarchived',
    'An affiliate who is unarchived is what it was, and a batch pays what was held back',
    async (t) => {
      const [{ updatedAt: _, ...affiliate }, day] = [await t.affiliate(), t.day()]
      await t.order({ ...goods, couponCode: affiliate.discountCode, occurredAt: day })
      t.expect(await t.delete(`/affiliates?id=${affiliate.id}`), 200)
      t.expect(await t.post('/payouts', t.periodOf(day, affiliate)), 404, 'no_eligible_commissions')
      const path = `/affiliates/${affiliate.id}/unarchive`
      const back = t.expect(await t.owner('POST', path), 200).data
      t.fields(back, affiliate, 'data')
      t.equal(t.expect(await t.owner('POST', path), 200).data, back, 'the second response')
      t.equal(t.expect(await t.get('/affiliates', { id: affiliate.id }), 200).data, [back], 'the list')
      t.equal(
        t.expect(await t.post('/payouts', t.periodOf(day, affiliate)), 200).data.totals.commissions,
        1,
        'commissions',
      )
      t.expect(await t.delete(`/affiliates?id=${affiliate.id}`), 200)
      t.expect(await t.post('/affiliates', { email: affiliate.email.toUpperCase(), name: 'Next' }), 201)
      t.expect(await t.owner('POST', path), 409, 'email_taken')
      t.expect(await t.owner('POST', '/affiliates/aff_unknown/unarchive'), 404, 'affiliate_not_found')
    },
    { page },
  )
  rule(
    'aliases',
    'An owner creates, lists, and deletes aliases, as a key does',
    async (t) => {
      const sent = { affiliateId: (await t.affiliate()).id, kind: 'CODE', value: t.id('alias') }
      const alias = t.expect(await t.owner('POST', '/aliases', sent), 200).data
      t.equal(t.expect(await t.post('/affiliates/aliases', sent), 200).data, alias, 'data')
      const listed = async () =>
        t.expect(await t.owner('GET', '/aliases', undefined, { affiliateId: sent.affiliateId }), 200).data
      t.equal(await listed(), [alias], 'the list')
      t.expect(await t.owner('DELETE', `/aliases/${alias.id}`), 200)
      t.equal(await listed(), [], 'the list')
    },
    { page: 'reference/conformance.md#aliases' },
  )
  rule(
    'tokens-revoked',
    'Revoking the tokens of an affiliate ends those created before, and none of others',
    async (t) => {
      const [affiliate, other] = [await t.affiliate(), await t.affiliate()]
      const tokenOf = async ({ id }: Json): Promise<string> =>
        t.expect(await t.owner('POST', `/affiliates/${id}/tokens`, {}), 201).data.token
      const [key, ofOther] = [await tokenOf(affiliate), await tokenOf(other)]
      const read = (token: string) => t.get('/affiliates/balance', {}, { key: token })
      t.expect(await read(key), 200)
      t.expect(await t.owner('DELETE', `/affiliates/${affiliate.id}/tokens`), 200)
      t.expect(await read(key), 403, 'key_revoked')
      t.expect(await read(ofOther), 200)
      t.expect(await read(await tokenOf(affiliate)), 200)
    },
    { page: 'guides/affiliate-portal.md#create-a-token' },
  )
}

// Each export and each erasure reads the whole shop.
function privacy(rule: Define): void {
  rule(
    'person-exported',
    'The export of a person has their orders in any spelling of the address, and nothing of others',
    async (t) => {
      const [customerEmail, own, other] = [t.email('person'), t.id('o'), t.id('o')]
      await t.order({ ...goods, externalOrderId: own, customerEmail })
      await t.order({ ...goods, externalOrderId: other, customerEmail: t.email('other') })
      const { text } = await t.owner('POST', '/privacy/exports', { email: customerEmail.toUpperCase() })
      t.equal([text.includes(own), text.includes(other)], [true, false], 'whether the export has the two orders')
      const lines = text.trimEnd().split('\n')
      t.equal(JSON.parse(lines.at(-1) ?? ''), { end: { rows: lines.length - 2 } }, 'the last line')
    },
    { page: 'guides/privacy-requests.md#export' },
  )
  rule(
    'person-erased',
    'A person is erased once their commissions are settled; amounts stay, and the affiliate cannot be unarchived',
    async (t) => {
      const { id, affiliate, externalOrderId } = await t.batch()
      const name = { customerEmail: affiliate.email }
      await t.order({ ...goods, ...name })
      const erase = () => t.owner('POST', '/privacy/erasures', { email: affiliate.email })
      t.expect(await erase(), 409, 'affiliate_has_open_commissions')
      await t.pay(id)
      const { data } = t.expect(await erase(), 200)
      const done = await t.until(async () => {
        const erasure = t.expect(await t.owner('GET', `/privacy/erasures/${data.id}`), 200).data
        return erasure.status === 'DONE' ? erasure : undefined
      }, 60_000)
      t.ok(done?.finishedAt && done.rows > 0, `the erasure is ${JSON.stringify(done)}`)
      t.equal(t.expect(await t.get('/journey', name), 200).total, 0, 'total of the journey')
      t.fields(
        await t.commissionOf(externalOrderId),
        { orderStatus: 'PAID', commissionAmountCents: 1600 },
        'commission',
      )
      t.expect(await t.owner('POST', `/affiliates/${affiliate.id}/unarchive`), 404, 'affiliate_not_found')
      t.expect(await t.owner('GET', '/privacy/erasures/ers_unknown'), 404, 'erasure_not_found')
    },
    { page: 'guides/privacy-requests.md#erasure' },
  )
}
