import * as settings from '../accounts/settings.ts'
import { invalidBody } from '../contract/errors.ts'
import type { components } from '../contract/schema.d.ts'
import { typedAmount, typedCents } from './amount-input.ts'
import { facts } from './components.ts'
import { checkbox, field, form, input, select } from './form.ts'
import { day } from './format.ts'
import { type Html, html } from './html.ts'
import { typedNumber } from './program-form.ts'
import type { PageRequest, Route, View } from './route.ts'
import { rolesAndAuditOf, validateBody } from './route.ts'
import { nameOf } from './status.ts'

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
  ['', 'As set through the API'],
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
        ['Shop id', html`<code>${known.shopId}</code>`],
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

const shownValue = ({ form: sent }: PageRequest, name: string, otherwise: string): string =>
  sent.size ? (sent.get(name) ?? '') : otherwise

function moneySection(request: PageRequest, known: Settings): Html {
  const { currency, minimumPayoutCents: minimum } = known
  const list = (minimums: Record<string, number>) =>
    Object.entries(minimums)
      .map(([one, cents]) => `${one} ${typedAmount(cents, one)}`)
      .join(', ')
  const others = list(known.minimumPayoutCentsByCurrency)
  const perAffiliate = list(known.minimumAffiliatePayoutCentsByCurrency)
  return html`<section class="card" aria-labelledby="money"><h2 id="money">Money and months</h2><div class="fields">
${input({ name: 'timeZone', label: 'Time zone', value: shownValue(request, 'timeZone', known.timeZone), required: true, maxlength: 64, placeholder: 'Europe/Berlin', hint: 'Used for days and months on these pages and in the CLI.' })}
${input({ name: 'currency', label: 'Currency', value: shownValue(request, 'currency', currency), required: true, maxlength: 3, hint: 'Currency of flat rates and the minimum payout. Existing commissions are not changed.' })}
${input({ name: 'minimumPayout', label: `Minimum payout in ${currency}`, value: shownValue(request, 'minimumPayout', minimum === null ? '' : typedAmount(minimum, currency)), maxlength: 20, hint: 'The smallest total of a payout batch. Leave empty for the server default.' })}
${input({ name: 'otherMinimums', label: 'Minimum in other currencies', value: shownValue(request, 'otherMinimums', others), placeholder: 'EUR 50.00, GBP 40.00', maxlength: 1000, hint: 'Minimum total of a batch in that currency.' })}
${input({ name: 'affiliateMinimums', label: 'Minimum per affiliate', value: shownValue(request, 'affiliateMinimums', perAffiliate), placeholder: `${currency} ${typedAmount(2500, currency)}`, maxlength: 1000, hint: 'Smaller balances are carried to the next payout.' })}
${input({ name: 'tax', label: 'Tax withheld, in percent', value: shownValue(request, 'tax', String(known.taxWithholdingBps / 100)), maxlength: 10, hint: 'Withheld from every new commission.' })}</div>
${known.legacyMinimumPayout === null ? '' : html`<p class="notice wait">A previous version stored a minimum of ${known.legacyMinimumPayout} ${currency}. Batches cannot be created until you resolve the difference.</p>${checkbox('dropLegacyMinimum', 'Use the minimum payout above instead', request.form.has('dropLegacyMinimum'))}`}</section>`
}

/** The preset with this order of evidence; empty for another order. */
const presetOf = (precedence: Settings['attributionPrecedence']): string =>
  PRECEDENCES.find(([name]) => name && settings.precedenceOf(name).join() === precedence.join())?.[0] ?? ''

const attributionSection = (request: PageRequest, known: Settings): Html => {
  const preset = presetOf(known.attributionPrecedence)
  const offered = PRECEDENCES.filter(([name]) => name || !preset)
  return html`<section class="card" aria-labelledby="credit"><h2 id="credit">Who is credited</h2><div class="fields">
${select('precedence', 'First evidence that counts', offered, shownValue(request, 'precedence', preset))}
${select('clickTouch', 'If there are several clicks', TOUCHES, shownValue(request, 'clickTouch', known.clickTouch))}</div>
<p class="hint">“What if…” on a program page shows how other terms would have changed past orders.</p></section>`
}

const storeSection = (request: PageRequest, known: Settings): Html =>
  html`<section class="card" aria-labelledby="store"><h2 id="store">Store and API</h2><div class="fields">
${input({ name: 'storeDomain', label: 'Store domain', value: shownValue(request, 'storeDomain', known.storeDomain ?? ''), placeholder: 'hats.myshopify.com', maxlength: 253, hint: 'Store notifications must come from this domain. Affiliate links point to it.' })}
${input({ name: 'storeWebhookSecret', label: known.hasStoreWebhookSecret ? 'Replace the store secret' : 'Store secret', type: 'password', autocomplete: 'new-password', maxlength: 500, hint: known.hasStoreWebhookSecret ? 'A secret is set. Leave empty to keep it.' : 'Signs the notifications of your store. Stored encrypted.' })}</div>
${checkbox('apiEnabled', 'API enabled', request.form.size ? request.form.has('apiEnabled') : known.apiEnabled, 'When it is off, every API request of this shop is rejected with 503.')}</section>`

/** `EUR 50.00, GBP 40.00` as cents by currency. @throws ApiError 400 for other text. */
function typedMinimums(text: string): Record<string, number> {
  const pairs = text.split(/[,;\n]/).flatMap((part): [string, number][] => {
    if (!part.trim()) return []
    const [, currency = '', amount = ''] = /^\s*([A-Za-z]{3})\s+([\d.]+)\s*$/.exec(part) ?? []
    const cents = typedCents(amount, currency.toUpperCase())
    if (cents === undefined) throw invalidBody('Enter minimums like EUR 50.00, GBP 40.00.')
    return [[currency.toUpperCase(), cents]]
  })
  return Object.fromEntries(pairs)
}

async function change({ ctx, form }: PageRequest) {
  const currency = field(form, 'currency')?.toUpperCase() ?? ''
  const minimum = field(form, 'minimumPayout')
  const minimumPayoutCents = minimum === undefined ? null : typedCents(minimum, currency)
  if (minimumPayoutCents === undefined) throw invalidBody('Minimum payout must be an amount, such as 50.00.')
  const secret = field(form, 'storeWebhookSecret')
  const precedence = field(form, 'precedence')
  const sent = {
    currency,
    minimumPayoutCents,
    minimumPayoutCentsByCurrency: typedMinimums(form.get('otherMinimums') ?? ''),
    minimumAffiliatePayoutCentsByCurrency: typedMinimums(form.get('affiliateMinimums') ?? ''),
    timeZone: field(form, 'timeZone') ?? 'UTC',
    taxWithholdingBps: Math.round(typedNumber('Tax withheld', form.get('tax')) * 100),
    ...(precedence && { attributionPrecedence: precedence }),
    clickTouch: form.get('clickTouch') ?? '',
    storeDomain: field(form, 'storeDomain') ?? null,
    apiEnabled: form.has('apiEnabled'),
    ...(secret && { storeWebhookSecret: secret }),
    ...(form.has('dropLegacyMinimum') && { legacyMinimumPayout: null }),
  }
  await settings.update(ctx, validateBody('updateSettings', sent))
  return { to: PATH, flash: { text: 'Settings saved.' } }
}
