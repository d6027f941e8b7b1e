import { group } from '../check.ts'
import type { Context, Json } from '../context.ts'
import { goods } from './owner.ts'

export const records = group(
  'records',
  { title: 'Audit and explanations', page: 'concepts/index.md#access', suite: 'owner', needs: ['owner'] },
  (rule) => {
    const listed = async (t: Context, action: string): Promise<Json[]> =>
      t.expect(await t.owner('GET', '/audit', undefined, { action, limit: 100 }), 200).data
    for (const [action, work] of Object.entries<(t: Context) => Promise<string>>({
      'affiliate.created': async (t) => (await t.affiliate({ status: 'PENDING' })).id,
      'affiliate.archived': async (t) => {
        const { id } = await t.affiliate()
        t.expect(await t.delete(`/affiliates?id=${id}`), 200)
        return id
      },
      'affiliate.unarchived': async (t) => {
        const { id } = await t.affiliate()
        t.expect(await t.delete(`/affiliates?id=${id}`), 200)
        t.expect(await t.owner('POST', `/affiliates/${id}/unarchive`), 200)
        return id
      },
      'program.created': async (t) => (await t.program()).id,
      'coupon.assigned': async (t) => (await t.affiliate({ code: t.code() })).id,
      'commission.created': async (t) =>
        (await t.order({ ...goods, couponCode: (await t.sharedAffiliate()).discountCode })).commission.id,
      'payout.created': async (t) => (await t.batch()).id,
      'payout.paid': async (t) => {
        const { id } = await t.batch()
        await t.pay(id)
        return id
      },
    }))
      rule(action.replace('.', '-'), `The change is recorded as ${action}`, async (t) => {
        const id = await work(t)
        t.ok(
          (await listed(t, action)).some(
            (record) => record.subjectId === id || JSON.stringify(record.data).includes(id),
          ),
          `no record ${action} of ${id}`,
        )
      })
    rule('linked', 'Each audit record contains the hash of the previous one', async (t) => {
      const { data } = t.expect(await t.owner('GET', '/audit', undefined, { limit: 50 }), 200)
      for (const [n, record] of data.entries()) {
        const next = data[n + 1]
        if (next) t.equal([record.seq, record.previousHash], [next.seq + 1, next.hash], 'seq and previousHash')
      }
    })
    rule('session', 'The session names the user and the shop of an owner token', async (t) => {
      const { data } = t.expect(await t.owner('GET', '/session'), 200)
      t.equal([data.user.role, data.csrfToken], ['OWNER', null], 'role and csrfToken')
    })
    rule('no-secrets', 'The audit contains no URL and no secret of a webhook subscription', async (t) => {
      const [secret, host] = [`s${t.code()}${t.code()}`, `${t.code().toLowerCase()}.conformance.example`]
      const { data } = t.expect(
        await t.settled(() =>
          t.post('/webhooks', { url: `https://${host}/`, events: ['conformance.nothing'], secret }),
        ),
        200,
      )
      const found = await listed(t, 'webhook.created')
      t.expect(await t.settled(() => t.delete(`/webhooks?id=${data.id}`)), 200)
      t.ok(
        found.some((record) => record.subjectId === data.id),
        'no record webhook.created',
      )
      t.ok(
        !JSON.stringify(found).includes(secret) && !JSON.stringify(found).includes(host),
        'the record contains the URL or the secret',
      )
    })
    rule('payouts-are-audited', 'Listing payouts is recorded as payouts.accessed and payouts.listed', async (t) => {
      const before = (await listed(t, 'payouts.listed'))[0]?.seq ?? 0
      t.expect(await t.get('/payouts', { limit: 1 }), 200)
      for (const action of ['payouts.accessed', 'payouts.listed'])
        t.ok(((await listed(t, action))[0]?.seq ?? 0) > before, `no new record ${action}`)
    })
    rule(
      'explanation',
      'The explanation of an order names the winner and its arithmetic, and the replay is identical',
      async (t) => {
        const { id, discountCode } = await t.sharedAffiliate()
        const externalOrderId = t.id('o')
        await t.order({ ...goods, externalOrderId, couponCode: discountCode })
        const { data } = t.expect(await t.owner('GET', `/orders/${externalOrderId}/explanation`), 200)
        t.equal(
          [data.outcome, data.affiliate?.id, data.replay.identical],
          ['CREDITED', id, true],
          'outcome, affiliate and replay.identical',
        )
      },
      { page: 'concepts/index.md#concepts' },
    )
    rule(
      'explanation-of-nobody',
      'An order without an affiliate is explained, too',
      async (t) => {
        const externalOrderId = t.id('o')
        await t.order({ ...goods, externalOrderId, couponCode: t.code() })
        t.equal(
          t.expect(await t.owner('GET', `/orders/${externalOrderId}/explanation`), 200).data.outcome,
          'NOBODY',
          'outcome',
        )
        t.expect(await t.owner('GET', `/orders/${t.id('unknown')}/explanation`), 404, 'order_not_found')
      },
      { page: 'concepts/index.md#concepts' },
    )
  },
)
