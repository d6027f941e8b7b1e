import { html, raw } from 'hono/html'
import { document } from '../contract/document.ts'
import { inlineStyleSource, pageHeaders } from './response.ts'

type Html = ReturnType<typeof html>

/**
 * The quick start: from a key to a payment, on one screen. The reference at `/docs` describes every operation.
 *
 * @param origin the server's address, for the commands
 * @param year The payment's year.
 */
export const docsPage = (origin: string, year: number): string =>
  String(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${document.info.title}: quick start</title>
<style>${raw(STYLE)}</style>
</head>
<body>
<main>
<h1>${document.info.title}</h1>
<p>${document.info.summary}</p>
<p>The <a href="/docs">reference</a> describes every operation, field, limit and error code. The contract: <a href="/openapi.yaml">openapi.yaml</a>, <a href="/openapi.json">openapi.json</a>, and workflows that use it: <a href="/referral.arazzo.yaml">referral.arazzo.yaml</a>.</p>
${steps(origin, year).map(([title, content], index) => html`<section><h2>${index + 1}. ${title}</h2>${content}</section>`)}
<section><h2>Every endpoint</h2>
<table>${Object.entries(document.paths)
    .filter(([path]) => path.startsWith('/api/v1/'))
    .map(
      ([path, item]) =>
        html`<tr><th scope="row"><code>${path}</code></th><td>${Object.entries(item).map(
          ([method, { operationId, tags, summary }]) =>
            html`<a href="/docs#tag/${tags[0]}/operation/${operationId}" title="${summary}">${method.toUpperCase()}</a> `,
        )}</td></tr>`,
    )}</table></section>
</main>
</body>
</html>`)

function steps(origin: string, year: number): [title: string, content: Html][] {
  const curl = (method: string, path: string, body?: object, key?: string): Html => {
    const options = [
      ...(body || method === 'GET' ? [] : [`-X ${method}`]),
      '-H "Authorization: Bearer $REFERRAL_API_KEY"',
      ...(key ? [`-H 'Idempotency-Key: ${key}'`] : []),
      ...(body ? ["-H 'Content-Type: application/json'", `-d '${JSON.stringify(body)}'`] : []),
    ]
    return code([`curl '${origin}/api/v1${path}'`, ...options].join(' \\\n  '))
  }
  const period = { periodStart: `${year}-01-01`, periodEnd: `${year}-12-31T23:59:59.999Z` }
  return [
    [
      'Get a key',
      html`<p>An owner creates keys on the <a href="/admin/keys">dashboard</a>, each with the scopes that its user needs. These steps need <code>affiliates:write</code>, <code>programs:write</code>, <code>events:write</code>, <code>payouts:write</code> and <code>webhooks:write</code>. Every request sends the key:</p>
${code('export REFERRAL_API_KEY=<API_KEY>')}${curl('GET', '/shop')}`,
    ],
    [
      'Add an affiliate',
      html`<p>A program decides what its affiliates earn: here 16% of an order, approved at once.</p>
${curl('POST', '/programs', { name: 'Partners', commissionPercent: 16, autoApproveAffiliate: true, autoApproveOrder: true })}
<p>The affiliate joins the program with the <code>id</code> of the response:</p>
${curl('POST', '/affiliates', { name: 'Noor Haddad', email: 'noor@example.com', campaignId: '<PROGRAM_ID>' })}
<p>The <code>slug</code> of the response, <code>noor-haddad</code>, is the <code>ref</code> of the affiliate's links: <code>https://shop.example/?ref=noor-haddad</code>.</p>`,
    ],
    [
      'Report an order',
      html`<p>The response names the affiliate, the commission in cents, and the reason for both. A request with the same <code>Idempotency-Key</code> and body returns the same response and records nothing new.</p>
${curl('POST', '/events', { externalOrderId: '2001', amountCents: 10_000, currency: 'USD', ref: 'noor-haddad' }, 'order-2001')}
<p>With <code>@referral/sdk</code>, which retries safely and derives the key from the order:</p>
${code(`import { createReferralClient } from '@referral/sdk'

const client = createReferralClient({
  apiKey: process.env.REFERRAL_API_KEY,
  baseUrl: '${origin}',
})
const { attribution, commission } = await client.events.conversion({
  externalOrderId: '2001',
  amountCents: 10_000,
  currency: 'USD',
  ref: 'noor-haddad',
})`)}`,
    ],
    [
      'Report a refund',
      html`<p>The commission becomes 16% of what is left. Without <code>amountCents</code>, the whole order is refunded.</p>
${curl('POST', '/refunds', { externalOrderId: '2001', externalRefundId: 'r1', amountCents: 2500 })}`,
    ],
    [
      'Pay the affiliates',
      html`<p>A batch takes the approved commissions of a period. <code>dryRun</code> returns the batch without creating it:</p>
${curl('POST', '/payouts', { ...period, dryRun: true })}
${curl('POST', '/payouts', period)}
<p>After the transfer, mark the batch as paid:</p>
${curl('PATCH', '/payouts?id=<BATCH_ID>&action=pay')}`,
    ],
    [
      'Receive webhooks',
      html`<p>Each event is a POST of <code>{ event, timestamp, shop_id, data }</code>. An event may arrive more than once, and there is no automatic retry unless the subscription asks for it.</p>
${curl('POST', '/webhooks', { url: 'https://hooks.example.com/referral', secret: '<WEBHOOK_SECRET>' })}
<p><code>X-Service-Signature</code> is the HMAC-SHA256 of the raw body. <code>@referral/webhook-verifier</code> verifies it for Express, Fastify, Hono, Next.js and Node.js:</p>
${code(`import { unwrap } from '@referral/webhook-verifier'

const { event, data } = await unwrap(request, { secret: process.env.REFERRAL_WEBHOOK_SECRET })`)}`,
    ],
  ]
}

const code = (text: string): Html => html`<pre><code>${text}</code></pre>`

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
main { max-width: 60rem; margin: 0 auto; padding: 1rem 1rem 4rem }
section { border-top: 1px solid #8884; margin-top: 2rem }
pre { padding: .75rem; background: #8881; border-radius: .375rem; white-space: pre-wrap; overflow-wrap: anywhere }
code { font-family: ui-monospace, monospace; font-size: .9em }
th { font-weight: normal; text-align: left; padding-right: 1.5rem }
`

/** The page has no script, image or form, and its one style is allowed by its hash. */
export const DOCS_HEADERS = pageHeaders({ style: inlineStyleSource(STYLE) })
