import { randomUUID } from 'node:crypto'
import { group } from '../check.ts'
import type { Context, Json } from '../context.ts'
import { PAGE, SILENT, subscribe, URL_OF_NOBODY, unsubscribe } from './webhooks.ts'

const REFUSED = 'reference/errors.md#webhook_url_refused'

const AVAILABLE = [
  'affiliate.approved',
  'affiliate.created',
  'affiliate.rejected',
  'affiliate.status_changed',
  'chat.message_received',
  'commission.approved',
  'commission.created',
  'commission.paid',
  'commission.reversed',
  'milestone.reached',
  'payout.completed',
  'payout.failed',
  'registration.submitted',
  'ticket.created',
]

const list = async (t: Context): Promise<Json> => t.expect(await t.get('/webhooks'), 200)

/** Addresses that a server must not send to. */
const UNSAFE: Record<string, string> = {
  'plain-http': 'http://hooks.conformance.example/',
  loopback: 'https://127.0.0.1/',
  'loopback-as-number': 'https://2130706433/',
  'loopback-in-hex': 'https://0x7f.1/',
  'loopback-in-octal': 'https://0177.0.0.1/',
  'private-10': 'https://10.0.0.1/',
  'private-172': 'https://172.16.0.1/',
  'private-192': 'https://192.168.1.1/',
  'carrier-grade-nat': 'https://100.64.0.1/',
  metadata: 'https://169.254.169.254/latest/meta-data/',
  'this-network': 'https://0.0.0.0/',
  'ipv6-loopback': 'https://[::1]/',
  'ipv6-mapped': 'https://[::ffff:127.0.0.1]/',
  'ipv6-compatible': 'https://[::7f00:1]/',
  'ipv6-unique-local': 'https://[fd00::1]/',
  'ipv6-link-local': 'https://[fe80::1]/',
  localhost: 'https://localhost/',
  'name-below-localhost': 'https://a.localhost/',
  'name-of-internal': 'https://metadata.google.internal/',
  'single-label': 'https://intranet/',
  'user-information': 'https://user:pass@hooks.conformance.example/',
  'no-url': 'not a url',
  'other-scheme': 'ftp://hooks.conformance.example/',
}

export const subscriptions = group(
  'subscriptions',
  { title: 'Webhook subscriptions', page: `${PAGE}#events`, suite: 'webhooks' },
  (rule) => {
    rule('created', 'POST returns 200 and the subscription without its secret', async (t) => {
      const secret = randomUUID()
      const reply = await t.settled(() => t.post('/webhooks', { url: URL_OF_NOBODY, ...SILENT, secret }))
      const { data } = t.expect(reply, 200)
      t.fields(
        data,
        {
          url: URL_OF_NOBODY,
          events: SILENT.events,
          source: 'api',
          hasSecret: true,
          retryPolicy: 'none',
          extendedEvents: false,
          status: 'enabled',
        },
        'data',
      )
      const all = await t.get('/webhooks')
      t.ok(!reply.text.includes(secret) && !all.text.includes(secret), 'the secret is returned')
      await unsubscribe(t, data)
    })
    rule('aliases', '`hookUrl` and `target_url` are aliases of url, and must have the same value', async (t) => {
      for (const body of [
        { url: undefined, hookUrl: URL_OF_NOBODY },
        { url: undefined, target_url: URL_OF_NOBODY },
        { hookUrl: URL_OF_NOBODY },
        { url: '', hookUrl: '', target_url: URL_OF_NOBODY },
        { url: '', hookUrl: URL_OF_NOBODY },
      ]) {
        const made = await subscribe(t, body)
        t.equal(made.url, URL_OF_NOBODY, 'url')
        await unsubscribe(t, made)
      }
      const two = { ...SILENT, url: URL_OF_NOBODY, hookUrl: 'https://other.conformance.example/' }
      t.expect(await t.post('/webhooks', two), 400, 'invalid_body')
    })
    rule(
      'url-required',
      'POST without a URL returns 400',
      async (t) => {
        for (const body of [{}, { url: '', hookUrl: '', target_url: '' }])
          t.expect(await t.post('/webhooks', { ...SILENT, ...body }), 400, 'invalid_body')
      },
      { page: 'reference/errors.md#invalid_body' },
    )
    for (const [name, url] of Object.entries(UNSAFE))
      rule(
        `refuses-${name}`,
        `\`${url}\` returns 400`,
        async (t) => {
          const reply = await t.post('/webhooks', { url, ...SILENT })
          if (reply.status === 200) await unsubscribe(t, reply.body.data)
          t.expect(reply, 400, 'webhook_url_refused')
        },
        { page: REFUSED },
      )
    rule(
      'any-event-name',
      'Event names are not validated: names that nothing sends and empty text are accepted',
      async (t) => {
        const events = ['order.shipped', '', 'x'.repeat(300), 'commission.paid']
        const made = await subscribe(t, { events })
        t.equal(made.events, events, 'events')
        await unsubscribe(t, made)
      },
    )
    rule(
      'changed-by-owner',
      'An owner changes the sent fields of a subscription, and reads its deliveries',
      async (t) => {
        const { id, updatedAt: _, ...made } = await subscribe(t, { source: 'zapier' })
        const path = `/webhooks/${id}`
        const change = { retryPolicy: 'standard', extendedEvents: true }
        const { data } = t.expect(await t.settled(() => t.owner('PATCH', path, change)), 200)
        t.fields(data, { ...made, ...change }, 'data')
        const { data: deliveries } = t.expect(
          await t.owner('GET', '/deliveries', undefined, { subscriptionId: id }),
          200,
        )
        const again = t.expect(
          await t.owner('POST', `${path}/redeliver`, { from: '2020-01-01', dryRun: true }),
          200,
        ).data
        t.equal([deliveries, again.dryRun, again.queued], [[], true, 0], 'deliveries, dryRun and queued')
        await unsubscribe(t, { id })
        t.expect(await t.owner('PATCH', path, change), 404, 'webhook_not_found')
      },
      { needs: ['owner'] },
    )
    rule('source', '`source` is kept', async (t) => {
      const made = await subscribe(t, { source: 'zapier' })
      t.equal(made.source, 'zapier', 'source')
      await unsubscribe(t, made)
    })
    rule(
      'listed',
      'GET lists the subscriptions, newest first, and the 14 available_events without `test`',
      async (t) => {
        const [a, b] = [await subscribe(t), await subscribe(t)]
        const { data, available_events } = await list(t)
        const ids = data.map((hook: Json) => hook.id).filter((id: string) => [a.id, b.id].includes(id))
        for (const hook of [a, b]) await unsubscribe(t, hook)
        t.equal(ids, [b.id, a.id], 'the order')
        t.equal([...available_events].sort(), AVAILABLE, 'available_events')
      },
    )
    rule('emitted-events', '`emitted_events` are the four events that are sent', async (t) => {
      t.equal(
        [...(await list(t)).emitted_events].sort(),
        ['affiliate.approved', 'affiliate.rejected', 'affiliate.status_changed', 'commission.created'],
        'emitted_events',
      )
    })
    rule('same-url-twice', 'A URL can be subscribed more than once', async (t) => {
      const [a, b] = [await subscribe(t), await subscribe(t)]
      for (const hook of [a, b]) await unsubscribe(t, hook)
      t.ok(a.id !== b.id, 'the ids must differ')
    })
    rule(
      'deleted',
      'DELETE removes a subscription; a second DELETE returns 404 webhook_not_found',
      async (t) => {
        const made = await subscribe(t)
        await unsubscribe(t, made)
        t.ok(!(await list(t)).data.some((hook: Json) => hook.id === made.id), 'the subscription is still listed')
        t.expect(await t.delete(`/webhooks?id=${made.id}`), 404, 'webhook_not_found')
      },
      { page: 'reference/errors.md#webhook_not_found' },
    )
    rule('test-creates-nothing', '`?test=1` returns ok and a message, and creates no subscription', async (t) => {
      const url = `https://${t.code().toLowerCase()}.conformance.example/`
      const reply = t.expect(await t.post('/webhooks', { url }, { query: { test: '1' } }), 200)
      t.ok(reply.ok === true && typeof reply.message === 'string', JSON.stringify(reply))
      t.ok(!(await list(t)).data.some((hook: Json) => hook.url === url), 'a subscription was created')
    })
    rule(
      'test-requires-url',
      '`?test=1` requires a valid URL',
      async (t) => {
        t.expect(await t.post('/webhooks', {}, { query: { test: '1' } }), 400)
        t.expect(
          await t.post('/webhooks', { url: 'https://127.0.0.1/' }, { query: { test: '1' } }),
          400,
          'webhook_url_refused',
        )
      },
      { page: REFUSED },
    )
  },
)
