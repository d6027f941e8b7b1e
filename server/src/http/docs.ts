import { createHash } from 'node:crypto'
import type { Context, Hono } from 'hono'
import { html, raw } from 'hono/html'
import {
  alternativesOf,
  deref,
  document,
  type OperationObject,
  type Parameter,
  readDocumentText,
  type Schema,
} from '../contract/document.ts'
import { requirement } from '../contract/validator.ts'
import { LIMITS } from './documented-limits.ts'
import { limitPublic } from './rate-limit.ts'
import { inlineStyleSource, pageHeaders } from './response.ts'
import type { Env, Server } from './server.ts'

type Html = ReturnType<typeof html>
type Entry = { method: string; path: string; op: OperationObject }

let page: string | undefined

/** The quick start: one self-contained page with every operation, rendered from openapi.yaml. */
export function docsPage(): string {
  page ??= String(renderPage())
  return page
}

function renderPage(): Html {
  const entries = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, op]): Entry => ({ method: method.toUpperCase(), path, op })),
  )
  const publicEntries = entries.filter(({ path }) => path.startsWith('/api/v1/'))
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${document.info.title}</title>
<style>${raw(STYLE)}</style>
</head>
<body>
<nav aria-label="Contents">
<a href="#start">Quick start</a>
${document.tags.map((tag) => navigation(tag.name, publicEntries))}
<a href="#webhook-events">Webhook events</a>
<strong>Reference</strong>
<a href="#resources">Fields of resources</a>
<a href="#limits">Limits</a>
<a href="#errors">Error codes</a>
</nav>
<main>
<h1>${document.info.title}</h1>
<p>${document.info.summary}</p>
${quickStart()}
${document.tags.map((tag) =>
  section(
    tag,
    publicEntries.filter(({ op }) => op.tags.includes(tag.name)),
  ),
)}
${webhookSection()}
${resourceSection()}
${limitSection()}
${errorSection()}
</main>
</body>
</html>`
}

const navigation = (tag: string, entries: Entry[]): Html | '' => {
  const own = entries.filter(({ op }) => op.tags.includes(tag))
  return own.length
    ? html`<strong>${tag}</strong>${own.map(({ op }) => html`<a href="#${op.operationId}">${op.summary}</a>`)}`
    : ''
}

function quickStart(): Html {
  const body = {
    externalOrderId: '1001',
    amountCents: 10_000,
    discountCents: 1000,
    currency: 'USD',
    couponCode: 'NISA16',
  }
  return html`<section id="start"><h2>Quick start</h2>
<p>Report an order. The response names the affiliate who referred it, the commission, and why.</p>
<pre><code>curl ${'{base_url}'}/api/v1/events \\
  -H 'Authorization: Bearer &lt;API_KEY&gt;' \\
  -H 'Content-Type: application/json' \\
  -H 'Idempotency-Key: order-1001' \\
  -d '${JSON.stringify(body)}'</code></pre>
<p>With <code>@referral/sdk</code>, which retries safely and derives the idempotency key from the order:</p>
<pre><code>import { createReferralClient } from '@referral/sdk'

const client = createReferralClient({ apiKey: '&lt;API_KEY&gt;', baseUrl: '${'{base_url}'}' })
const { commission } = await client.events.conversion(${JSON.stringify(body)})</code></pre>
${text(document.info.description)}
<p>The <a href="/docs">reference</a> describes every operation, including those for owners. The full contract: <a href="/openapi.yaml">openapi.yaml</a>, <a href="/openapi.json">openapi.json</a>.</p></section>`
}

const section = (tag: { name: string; description: string }, entries: Entry[]): Html | '' =>
  entries.length ? html`<section><h2>${tag.name}</h2><p>${tag.description}</p>${entries.map(operation)}</section>` : ''

const credential = (scopes: string[] | undefined): Html => {
  if (!scopes) return html`<span>no credential</span>`
  return scopes[0] ? html`<span>scope <code>${scopes[0]}</code></span>` : html`<span>any key</span>`
}

function operation({ method, path, op }: Entry): Html {
  const parameters = (op.parameters ?? []).map(deref)
  const scopes = (op.security ?? document.security)[0]?.apiKey
  const content = op.requestBody?.content['application/json']
  return html`<article id="${op.operationId}">
<h3>${op.summary}</h3>
<p class="route"><code><b>${method}</b> ${path}</code> ${credential(scopes)}</p>
${text(op.description)}
${parameters.length ? parameterTable(parameters) : ''}
${content ? bodyTables(content.schema) : ''}
${Object.entries(content?.examples ?? {}).map(([name, { value }]) => example(`Request: ${name}`, value))}
<h4>Responses</h4>
<dl>${Object.entries(op.responses).map(([status, response]) => responseEntry(status, deref(response)))}</dl>
</article>`
}

const parameterTable = (parameters: Parameter[]): Html => html`<h4>Parameters</h4>
<table><tr><th>Name</th><th>Value</th><th>Description</th></tr>
${parameters.map(({ name, required, schema, description }) => html`<tr><td><code>${name}</code>${required ? ' *' : ''}</td><td>${requirement(schema)}${defaultText(schema)}</td><td>${inline(description ?? '')}</td></tr>`)}
</table>`

const bodyTables = (schema: Schema): Html[] => alternativesOf(schema).map(({ object }) => bodyTable(object))

const bodyTable = (schema: Schema & { description?: string }): Html => html`<h4>Body</h4>
${schema.description ? text(schema.description) : ''}
<table><tr><th>Field</th><th>Value</th><th>Description</th></tr>
${Object.entries(schema.properties ?? {}).map(([name, property]) => html`<tr><td><code>${name}</code>${schema.required?.includes(name) ? ' *' : ''}</td><td>${requirement(property)}${defaultText(property)}</td><td>${inline((deref(property) as { description?: string }).description ?? '')}</td></tr>`)}
</table>`

const defaultText = (schema: Schema): string => {
  const value = deref(schema).default
  return value === undefined ? '' : `; defaults to ${String(value)}`
}

function responseEntry(
  status: string,
  response: {
    description: string
    content?: Record<string, { examples?: Record<string, { $ref?: string; value?: unknown }> }>
  },
): Html {
  const examples = Object.entries(response.content?.['application/json']?.examples ?? {})
  const isError = Number(status) >= 400
  return html`<dt><b>${status}</b> ${inline(response.description)}</dt>
<dd>${
    isError
      ? html`<ul>${examples.map(([code, one]) => html`<li><code>${code}</code> ${(deref(one).value as { error: string }).error}</li>`)}</ul>`
      : examples.map(([name, one]) => example(name, deref(one).value))
  }</dd>`
}

const example = (name: string, value: unknown): Html =>
  html`<details><summary>${name}</summary><pre><code>${JSON.stringify(value, null, 2)}</code></pre></details>`

const webhookHeaders = (): { name?: string; description?: string }[] =>
  [
    'WebhookEventHeader',
    'WebhookSignatureHeader',
    'WebhookIdHeader',
    'WebhookTimestampHeader',
    'WebhookStandardSignatureHeader',
  ].map((name) =>
    deref<{ $ref?: string; name?: string; description?: string }>({ $ref: `#/components/parameters/${name}` }),
  )

const webhookSection = (): Html => html`<section id="webhook-events"><h2>Webhook events</h2>
<p>Each is a POST of <code>{ event, timestamp, shop_id, data }</code>. Before you process one, compare <code>X-Service-Signature</code> with the HMAC-SHA256 of the raw body. There is no automatic retry, and an event may arrive more than once.</p>
<table><tr><th>Header</th><th>Value</th></tr>
${webhookHeaders().map(({ name, description }) => html`<tr><td><code>${name}</code></td><td>${inline(description ?? '')}</td></tr>`)}
</table>
<p><code>@referral/webhook-verifier</code> verifies the signature for Express, Fastify, Hono, Next.js and Node.js:</p>
<pre><code>import { unwrap } from '@referral/webhook-verifier'

const { event, data } = await unwrap(request, { secret: '&lt;WEBHOOK_SECRET&gt;' })</code></pre>
${Object.entries(document.webhooks).map(
  ([name, { post }]) => html`<article id="event-${name}"><h3><code>${name}</code></h3>${text(post.description)}
${Object.entries(post.requestBody?.content['application/json']?.examples ?? {}).map(([label, one]) => example(label, deref<{ $ref?: string; value?: unknown }>(one).value))}</article>`,
)}
</section>`

/** The resources of responses; requests and responses of operations refer to them. */
const RESOURCES = [
  'Affiliate',
  'Program',
  'Commission',
  'PayoutBatch',
  'Coupon',
  'Analytics',
  'JourneyEntry',
  'WebhookSubscription',
]

const resourceSection = (): Html => html`<section id="resources"><h2>Fields of resources</h2>
<p>Every field is always present in a response, and <code>null</code> when it is not set.</p>
${RESOURCES.map((name) => html`<article id="resource-${name}"><h3>${name}</h3>${bodyTables({ $ref: `#/components/schemas/${name}` })}</article>`)}
</section>`

const limitSection = (): Html => html`<section id="limits"><h2>Limits</h2>
<table><tr><th>Limit</th><th>Value</th></tr>
${LIMITS.map(([limit, value]) => html`<tr><td>${limit}</td><td>${inline(value)}</td></tr>`)}
</table></section>`

function errorSection(): Html {
  const { 'x-enumDescriptions': descriptions = {} } = deref<{
    $ref?: string
    'x-enumDescriptions'?: Record<string, string>
  }>({ $ref: '#/components/schemas/ErrorCode' })
  return html`<section id="errors"><h2>Error codes</h2>
<p>Sent in <code>X-Error-Code</code>. Messages may change, codes do not.</p>
<dl>${Object.entries(descriptions).map(([code, lines]) => html`<dt id="error-${code}"><code>${code}</code></dt><dd>${inline(lines)}</dd>`)}</dl></section>`
}

/** Renders the Markdown of the document, which is limited to paragraphs, code and bold. */
const text = (markdown: string): Html[] =>
  markdown
    .trim()
    .split(/\n\s*\n/)
    .map((paragraph) => html`<p>${inline(paragraph)}</p>`)

function inline(markdown: string): Html[] {
  return markdown.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part) => {
    if (part.startsWith('`')) return html`<code>${part.slice(1, -1)}</code>`
    return part.startsWith('**') ? html`<b>${part.slice(2, -2)}</b>` : html`${part}`
  })
}

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { margin: 0; display: grid; grid-template-columns: 15rem minmax(0, 1fr) }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1rem; box-sizing: border-box; border-right: 1px solid #8884; font-size: .875rem }
nav a, nav strong { display: block; padding: .15rem 0; text-decoration: none }
nav strong { margin-top: .75rem }
main { padding: 1rem 2rem 4rem; max-width: 60rem }
article { border-top: 1px solid #8884; margin-top: 2rem }
pre { overflow: auto; padding: .75rem; background: #8881; border-radius: .375rem }
code { font-family: ui-monospace, monospace; font-size: .9em }
table { border-collapse: collapse; width: 100%; font-size: .9rem }
th, td { text-align: left; vertical-align: top; padding: .3rem .5rem; border-bottom: 1px solid #8884 }
.route span { margin-left: 1rem; opacity: .8 }
dd { margin: 0 0 .5rem 1rem }
@media (max-width: 50rem) { body { display: block } nav { position: static; height: auto; border: 0 } }
`

/** The page has no script, image or form, and its one style is allowed by its hash. */
export const DOCS_HEADERS = pageHeaders({ style: inlineStyleSource(STYLE) })

interface Representation {
  text: string
  type: string
  tag: string
}

/** Serves the contract without a credential. Each format is built once and supports conditional requests. */
export function mountDocument(app: Hono<Env>, server: Server): void {
  const yaml = once(() => representationOf(readDocumentText(), 'application/yaml; charset=utf-8'))
  const json = once(() => representationOf(JSON.stringify(document), 'application/json'))
  const serve = (form: () => Representation) => async (c: Context<Env>) => {
    await limitPublic(server, c.get('request'))
    const { text, type, tag } = form()
    const headers = { ETag: tag, 'Cache-Control': 'no-cache' }
    if (matchesTag(c.req.header('If-None-Match'), tag)) return c.body(null, 304, headers)
    return c.body(text, 200, { ...headers, 'Content-Type': type })
  }
  app.get('/', async (c) => {
    await limitPublic(server, c.get('request'))
    return c.redirect('/api/v1/docs')
  })
  app.get('/openapi.yaml', serve(yaml))
  app.get('/openapi.json', serve(json))
}

const representationOf = (text: string, type: string): Representation => ({
  text,
  type,
  tag: `"${createHash('sha256').update(text).digest('hex').slice(0, 16)}"`,
})

/** Whether `If-None-Match` matches the tag, by the weak comparison that RFC 9110 requires. */
export const matchesTag = (given: string | undefined, tag: string): boolean =>
  (given ?? '').split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === tag)

function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}
