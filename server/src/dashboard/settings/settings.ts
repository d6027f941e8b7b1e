import { invalidField } from '../../contract/errors.ts'
import { isCurrency } from '../../contract/is-currency.ts'
import type { components } from '../../contract/schema.d.ts'
import * as settings from '../../domains/accounts/settings.ts'
import { MAX_CENTS } from '../../engine/program-rate.ts'
import { typedAmount, typedCents } from '../kit/amount-input.ts'
import { facts } from '../kit/components.ts'
import { checkbox, field, form, input, limitsOf, select } from '../kit/form.ts'
import { day } from '../kit/format.ts'
import { type Html, html } from '../kit/html.ts'
import type { PageRequest, Route, View } from '../kit/route.ts'
import { rolesAndAuditOf, validateBody } from '../kit/route.ts'
import { nameOf } from '../kit/status.ts'
import { typedNumber } from '../programs/program-form.ts'

type Settings = components['schemas']['Settings']

const PATH = '/admin/settings'

export const settingsRoutes: Route[] = [
  { path: '/settings', ...rolesAndAuditOf('getSettings'), show },
  { path: '/settings', ...rolesAndAuditOf('updateSettings'), act: change, page: show },
]

const PRECEDENCES = [
  ['default', 'Code first'],
  ['link-first', 'Link first'],
  ['customer-first', 'Connected customer first'],
  ['', 'Custom, set through the API'],
] as const

const TOUCHES = [
  ['LAST', 'The last click'],
  ['FIRST', 'The first click'],
] as const

async function show(request: PageRequest): Promise<View> {
  const known = settings.read(request.ctx)
  return {
    title: 'Shop',
    lead: 'Settings for the whole shop. Each change is recorded in the audit log.',
    body: html`${facts(
      [
        ['Name', known.name],
        ['Plan', nameOf(known.plan)],
        ['Shop ID', html`<code>${known.shopId}</code>`],
        ['Last changed', day(known.updatedAt, request.zone)],
      ],
      'facts card',
    )}
${form(
  request,
  PATH,
  html`${moneySection(request, known)}${attributionSection(request, known)}${storeSection(request, known)}
<div class="sticky"><button class="main">Save settings</button></div>`,
)}`,
  }
}

const shownValue = ({ form: submitted }: PageRequest, name: string, otherwise: string): string =>
  submitted.size ? (submitted.get(name) ?? '') : otherwise

function moneySection(request: PageRequest, known: Settings): Html {
  const { currency } = known
  return html`<section class="card" aria-labelledby="money"><h2 id="money">Money and months</h2><div class="fields">
${input(request, { name: 'timeZone', label: 'Time zone', value: shownValue(request, 'timeZone', known.timeZone), required: true, ...limitsOf('updateSettings', 'timeZone'), placeholder: 'Europe/Berlin', choices: ZONES, hint: 'Used for days and months in the dashboard and the CLI.' })}
${input(request, { name: 'currency', label: 'Currency', value: shownValue(request, 'currency', currency), required: true, maxlength: 3, choices: CURRENCIES, hint: 'Currency of flat rates and the minimum payout. Existing commissions are not changed.' })}
${input(request, { name: 'tax', label: 'Tax withheld', suffix: ', in percent', value: shownValue(request, 'tax', String(known.taxWithholdingBps / 100)), maxlength: 10, hint: 'Withheld from every new commission.' })}</div>
${minimumRows(request, known)}
${known.legacyMinimumPayout === null ? '' : html`<p class="notice wait">A previous version stored a minimum of ${known.legacyMinimumPayout} ${currency}. Batches cannot be created until you resolve the difference.</p>${checkbox('dropLegacyMinimum', 'Use the minimum payout above instead', request.form.has('dropLegacyMinimum'))}`}</section>`
}

/** Suggestions from the server's `Intl`. Other time zones and currencies can still be typed. */
const ZONES = ['UTC', ...Intl.supportedValuesOf('timeZone')]
const CURRENCIES = Intl.supportedValuesOf('currency')

/** A row's fields: the currency code, and the minimums per batch and per affiliate. */
const ROW = ['minimumCurrency', 'minimumBatch', 'minimumAffiliate'] as const

interface MinimumRow {
  currency: string
  batch: string
  affiliate: string
}

/** One row for the shop's currency, one for each other currency with a minimum, and an empty one. */
function rowsOf({ form: submitted }: PageRequest, known: Settings): MinimumRow[] {
  if (submitted.size > 0) {
    const [codes = [], batches = [], affiliates = []] = ROW.map((name) => submitted.getAll(name))
    return codes.map((currency, at) => ({ currency, batch: batches[at] ?? '', affiliate: affiliates[at] ?? '' }))
  }
  const { currency: shopCurrency, minimumPayoutCents, minimumPayoutCentsByCurrency: batch } = known
  const { minimumAffiliatePayoutCentsByCurrency: affiliate } = known
  const amount = (cents: number | null | undefined, currency: string) =>
    cents === null || cents === undefined ? '' : typedAmount(cents, currency)
  const codes = [...new Set([shopCurrency, ...Object.keys(batch), ...Object.keys(affiliate)])]
  return [
    ...codes.map((currency) => ({
      currency,
      batch: amount(currency === shopCurrency ? minimumPayoutCents : batch[currency], currency),
      affiliate: amount(affiliate[currency], currency),
    })),
    { currency: '', batch: '', affiliate: '' },
  ]
}

const minimumRows = (request: PageRequest, known: Settings): Html => html`<fieldset><legend>Minimum payouts</legend>
<p class="hint">The smallest total for a batch, and for each affiliate in it. Smaller balances carry over to the next payout. Leave “Per batch” empty to use the server’s default.</p>
${rowsOf(request, known).map((row, at) => {
  const id = (name: string) => `${name}-${at}`
  return html`<div class="fields three" role="group" aria-label="${row.currency || 'Another currency'}">
${input(request, { name: 'minimumCurrency', id: id('minimumCurrency'), field: id('minimumCurrency'), label: 'Currency', value: row.currency, maxlength: 3, placeholder: 'EUR', choices: CURRENCIES })}
${input(request, { name: 'minimumBatch', id: id('minimumBatch'), field: id('minimumBatch'), label: 'Per batch', value: row.batch, maxlength: 20 })}
${input(request, { name: 'minimumAffiliate', id: id('minimumAffiliate'), field: id('minimumAffiliate'), label: 'Per affiliate', value: row.affiliate, maxlength: 20 })}</div>`
})}</fieldset>`

/** The preset with this order of evidence, or empty if there is none. */
const presetOf = (precedence: Settings['attributionPrecedence']): string =>
  PRECEDENCES.find(([name]) => name && settings.precedenceOf(name).join() === precedence.join())?.[0] ?? ''

const attributionSection = (request: PageRequest, known: Settings): Html => {
  const preset = presetOf(known.attributionPrecedence)
  const offered = PRECEDENCES.filter(([name]) => name || !preset)
  return html`<section class="card" aria-labelledby="credit"><h2 id="credit">Who is credited</h2><div class="fields">
${select('precedence', 'Evidence that counts first', offered, shownValue(request, 'precedence', preset))}
${select('clickTouch', 'If there are several clicks', TOUCHES, shownValue(request, 'clickTouch', known.clickTouch))}</div>
<p class="hint">“What if…” on a program page shows how other terms would have changed past orders.</p></section>`
}

const storeSection = (request: PageRequest, known: Settings): Html =>
  html`<section class="card" aria-labelledby="store"><h2 id="store">Store and API</h2><div class="fields">
${input(request, { name: 'storeDomain', label: 'Store domain', value: shownValue(request, 'storeDomain', known.storeDomain ?? ''), placeholder: 'hats.myshopify.com', ...limitsOf('updateSettings', 'storeDomain'), hint: 'Store notifications must come from this domain. Affiliate links point to it unless you set a website.' })}
${input(request, { name: 'siteDomains', label: 'Website domains', value: shownValue(request, 'siteDomains', known.siteDomains.join(', ')), placeholder: 'shop.example, www.shop.example', hint: html`Their pages report clicks with <code>${`<script defer src="${request.origin}/t/${known.shopId}.js"></script>`}</code>. Affiliate links point to the first.` })}
${input(request, { name: 'storeWebhookSecret', label: known.hasStoreWebhookSecret ? 'Replace the store secret' : 'Store secret', type: 'password', autocomplete: 'new-password', ...limitsOf('updateSettings', 'storeWebhookSecret'), hint: known.hasStoreWebhookSecret ? 'A secret is set. Leave empty to keep it.' : 'Signs the notifications of your store. Stored encrypted.' })}
${input(request, { name: 'stripeWebhookSecret', label: known.hasStripeWebhookSecret ? 'Replace the Stripe secret' : 'Stripe secret', type: 'password', autocomplete: 'new-password', ...limitsOf('updateSettings', 'stripeWebhookSecret'), hint: known.hasStripeWebhookSecret ? 'A secret is set. Leave empty to keep it.' : html`The signing secret of a Stripe endpoint with the address <code>${request.origin}/integrations/stripe/${known.shopId}</code>. Stored encrypted.` })}</div>
${checkbox('apiEnabled', 'API enabled', request.form.size ? request.form.has('apiEnabled') : known.apiEnabled, 'When it is off, every API request of this shop is rejected with 503.')}</section>`

interface Minimums {
  batch: Record<string, number>
  affiliate: Record<string, number>
}

/** Parses the rows to cents by currency. @throws ApiError 400 for an invalid amount or currency. */
function typedMinimums(form: URLSearchParams): Minimums {
  const minimums: Minimums = { batch: {}, affiliate: {} }
  const [codes = [], batches = [], affiliates = []] = ROW.map((name) => form.getAll(name))
  for (const [at, typed] of codes.entries()) {
    const currency = typed.trim().toUpperCase()
    for (const [kind, text, name] of [
      ['batch', batches[at]?.trim(), ROW[1]],
      ['affiliate', affiliates[at]?.trim(), ROW[2]],
    ] as const) {
      if (!text) continue
      if (!isCurrency(currency))
        throw invalidField('invalid_body', `minimumCurrency-${at}`, 'must be an ISO 4217 currency, such as USD.')
      if (currency in minimums[kind])
        throw invalidField('invalid_body', `minimumCurrency-${at}`, `must not repeat ${currency}.`)
      const cents = typedCents(text, currency)
      if (cents === undefined || cents < 0 || cents > MAX_CENTS)
        throw invalidField(
          'invalid_body',
          `${name}-${at}`,
          `must be an amount, such as ${typedAmount(5000, currency)}.`,
        )
      minimums[kind][currency] = cents
    }
  }
  return minimums
}

function typedTax(form: URLSearchParams): number {
  const bps = Math.round(typedNumber('tax', form.get('tax')) * 100)
  if (bps < 0 || bps > 10_000) throw invalidField('invalid_body', 'tax', 'must be from 0 to 100, such as 12.5.')
  return bps
}

async function change({ ctx, form }: PageRequest) {
  const currency = field(form, 'currency')?.toUpperCase() ?? ''
  const { batch, affiliate } = typedMinimums(form)
  const { [currency]: minimum, ...others } = batch
  const secret = field(form, 'storeWebhookSecret')
  const stripeSecret = field(form, 'stripeWebhookSecret')
  const precedence = field(form, 'precedence')
  const body = {
    currency,
    minimumPayoutCents: minimum ?? null,
    minimumPayoutCentsByCurrency: others,
    minimumAffiliatePayoutCentsByCurrency: affiliate,
    timeZone: field(form, 'timeZone') ?? 'UTC',
    taxWithholdingBps: typedTax(form),
    ...(precedence && { attributionPrecedence: precedence }),
    clickTouch: form.get('clickTouch') ?? '',
    storeDomain: field(form, 'storeDomain') ?? null,
    siteDomains:
      field(form, 'siteDomains')
        ?.split(/[\s,]+/)
        .filter(Boolean) ?? [],
    apiEnabled: form.has('apiEnabled'),
    ...(secret && { storeWebhookSecret: secret }),
    ...(stripeSecret && { stripeWebhookSecret: stripeSecret }),
    ...(form.has('dropLegacyMinimum') && { legacyMinimumPayout: null }),
  }
  await settings.update(ctx, validateBody('updateSettings', body))
  return { to: PATH, flash: { text: 'Settings saved.' } }
}
