import { group } from '../check.ts'
import type { Reply } from '../client.ts'
import type { Context, Json } from '../context.ts'
import { withSettings } from './settings.ts'

interface Site {
  script: (headers?: Record<string, string>) => Promise<Reply>
  view: (body: Json) => Promise<Reply>
  report: (body: Json, origin?: string) => Promise<Reply>
  follow: (ref: string, path?: string) => Promise<Reply>
}

/** Turns tracking on for a site of the shop. */
async function withSite(t: Context, work: (site: Site) => Promise<void>): Promise<void> {
  const { shopId } = t.expect(await t.owner('GET', '/settings'), 200).data
  await withSettings(t, { siteDomains: ['shop.example'] }, () =>
    work({
      script: (headers = {}) => t.call('GET', `/t/${shopId}.js`, { key: null, headers }),
      view: (body) =>
        t.call('POST', `/t/${shopId}/view`, { key: null, body, headers: { Origin: 'https://shop.example' } }),
      report: (body, Origin = 'https://shop.example') =>
        t.call('POST', `/t/${shopId}/click`, { key: null, body, headers: { Origin } }),
      follow: (ref, path) => t.call('GET', `/r/${shopId}/${ref}`, { key: null, query: { path } }),
    }),
  )
}

const pageOf = ({ headers }: Reply): URL => new URL(headers.get('Location') ?? 'about:blank')

export const tracking = group(
  'tracking',
  {
    title: 'Clicks from pages',
    page: 'guides/static-shop.md',
    suite: 'owner',
    needs: ['owner', 'settings'],
    isExclusive: true,
  },
  (rule) => {
    rule('click', 'A click that a page reports is evidence for an order by its id', async (t) => {
      const affiliate = await t.affiliate()
      await withSite(t, async ({ report }) => {
        const { id } = t.expect(await report({ ref: affiliate.slug }), 202)
        const { attribution } = await t.decide({ amountCents: 1000, clickId: id })
        t.equal(attribution.affiliateId, affiliate.id, 'attribution.affiliateId')
      })
    })
    rule('script', 'The script is JavaScript, and is not sent again to a client that has it', async (t) => {
      await withSite(t, async ({ script }) => {
        const reply = await script()
        t.expect(reply, 200)
        t.ok(/javascript/.test(reply.headers.get('Content-Type') ?? ''), 'Content-Type must be JavaScript')
        t.expect(await script({ 'If-None-Match': reply.headers.get('ETag') ?? '' }), 304)
      })
    })
    rule('view', 'A page view that a page reports is in the journey, and no evidence', async (t) => {
      const [{ id, slug: ref }, sessionId] = [await t.sharedAffiliate(), t.id('s')]
      await withSite(t, async ({ view }) => {
        const reply = t.expect(await view({ url: 'https://shop.example/hats', ref, sessionId }), 202)
        const { journey } = t.expect(await t.get('/journey', { sessionId }), 200)
        t.equal(journey.length, 1, 'the number of entries')
        t.fields(journey[0], { id: reply.id, type: 'page_view', affiliateId: id }, 'entry')
        t.equal((await t.decide({ amountCents: 1000, sessionId })).attribution.affiliateId, null, 'affiliateId')
        t.expect(await view({ ref }), 400, 'invalid_body')
      })
    })
    rule('nobody', 'A click that names nobody is not recorded: its id is null', async (t) => {
      await withSite(t, async ({ report }) => {
        t.equal(t.expect(await report({ ref: t.id('unknown') }), 202).id, null, 'id')
      })
    })
    rule('origin', 'Pages of other origins, and of the same host without https, return 403', async (t) => {
      const { slug } = await t.affiliate()
      await withSite(t, async ({ report }) => {
        for (const origin of ['https://shop.example.evil.example', 'https://sub.shop.example', 'http://shop.example'])
          t.expect(await report({ ref: slug }, origin), 403, 'origin_refused')
      })
    })
    rule('no-customers', 'A report with a customer or a time returns 400', async (t) => {
      const { slug } = await t.affiliate()
      await withSite(t, async ({ report }) => {
        for (const more of [{ customerEmail: 'a@example.com' }, { customerId: '1' }, { occurredAt: '2026-01-01' }])
          t.expect(await report({ ref: slug, ...more }), 400)
      })
    })
    rule('link', 'An affiliate link redirects to the first domain with the id of its click', async (t) => {
      const affiliate = await t.affiliate()
      await withSite(t, async ({ follow }) => {
        const reply = await follow(affiliate.slug, '/hats?a=b')
        const { origin, pathname, searchParams } = pageOf(reply)
        t.equal([reply.status, origin, pathname], [302, 'https://shop.example', '/hats'], 'the redirect')
        const clickId = searchParams.get('referral_click_id')
        const { attribution } = await t.decide({ amountCents: 1000, clickId })
        t.equal(attribution.affiliateId, affiliate.id, 'attribution.affiliateId')
      })
    })
    rule('no-open-redirect', 'An affiliate link never leads to another host', async (t) => {
      const { slug } = await t.affiliate()
      await withSite(t, async ({ follow }) => {
        t.equal(pageOf(await follow(slug)).origin, 'https://shop.example', 'the origin')
        for (const path of [
          '//evil.example',
          '/\\evil.example',
          'https://evil.example',
          '@evil.example',
          '.evil.example',
        ]) {
          const reply = await follow(slug, path)
          if (reply.status !== 400) t.equal(pageOf(reply).origin, 'https://shop.example', `the origin for ${path}`)
        }
      })
    })
  },
)
