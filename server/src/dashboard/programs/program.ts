import type { components } from '../../contract/schema.d.ts'
import { NO_FIGURES, programFiguresOf } from '../../domains/affiliates/figures.ts'
import * as geoRules from '../../domains/programs/geo-rules.ts'
import * as productRules from '../../domains/programs/product-rules.ts'
import * as programs from '../../domains/programs/programs.ts'
import * as terms from '../../domains/programs/terms.ts'
import { figureSummary } from '../affiliates/affiliate-figures.ts'
import { facts } from '../kit/components.ts'
import { buttonForm, form, input, limitsOf, select, textarea } from '../kit/form.ts'
import { count, day, discountText, rateText } from '../kit/format.ts'
import { type Html, html, isolated } from '../kit/html.ts'
import type { PageRequest, Route, View } from '../kit/route.ts'
import { ALL_ROLES, OWNER_ONLY, rolesAndAuditOf, validateBody } from '../kit/route.ts'
import { badge } from '../kit/status.ts'
import { ACTIONS, type Column, pageOf, pager, table } from '../kit/table.ts'
import { programFields, RATE_TYPES, sentProgram, typedNumber } from './program-form.ts'

type Program = components['schemas']['Program']

const LIST = '/admin/programs'

export const programPageRoutes: Route[] = [
  { path: '/programs/:id', roles: ALL_ROLES, audit: 'program.shown', show },
  { path: '/programs/:id/edit', roles: OWNER_ONLY, audit: 'program.shown', show: edit },
  { path: '/programs/:id/edit', roles: OWNER_ONLY, act: change, page: edit },
  { path: '/programs/:id/rules', ...rolesAndAuditOf('createProductRule'), act: addRule, page: show },
  { path: '/programs/:id/rules/:rule/delete', ...rolesAndAuditOf('deleteProductRule'), act: removeRule, page: show },
  { path: '/programs/:id/places', ...rolesAndAuditOf('setGeoRule'), act: setPlaces, page: show },
]

async function show(request: PageRequest): Promise<View> {
  const { ctx, isOwner, zone } = request
  const program = await programs.find(request.ctx, request.params.id ?? '')
  const { summary } = await terms.find(ctx, program.id)
  const figures = (await programFiguresOf(ctx, [program.id])).get(program.id) ?? NO_FIGURES
  return {
    title: program.name,
    crumb: { to: LIST, text: 'Programs' },
    badges: badge(program.status),
    subjectId: program.id,
    actions: html`<a class="button" href="${LIST}/${program.id}/backtest">What if…</a>${isOwner ? html`<a class="button main" href="${LIST}/${program.id}/edit">Edit</a>` : ''}`,
    body: html`${program.description ? html`<p class="lead">${isolated(program.description)}</p>` : ''}
<section aria-labelledby="all-time"><h2 id="all-time">All time</h2>${figureSummary(figures, ctx.shop.currency, false)}</section>
<section class="card" aria-labelledby="terms"><h2 id="terms">Terms</h2>${facts([
      ['Commission', rateText(program.commissionType, program.defaultCommissionBps, ctx.shop.currency)],
      ['Terms', html`${summary} <a href="${LIST}/${program.id}/terms">${isOwner ? 'Change' : 'Show'}</a>`],
      ['Click window', program.cookieDurationDays === 0 ? 'links earn nothing' : `${program.cookieDurationDays} days`],
      ['Commissions', program.autoApproveOrder ? 'approved automatically' : 'approved manually'],
      ['Affiliates', program.autoApproveAffiliate ? 'approved automatically' : 'approved manually'],
      ['Lifetime commission', program.lifetimeCommission ? 'yes' : 'no'],
      ['Code discount', (program.discountEnabled && discountText(program, ctx.shop.currency)) || 'none'],
      ['New affiliates', program.isDefault ? 'join this program by default' : 'join only when you select it'],
      ['Members', html`<a href="/admin/affiliates?campaignId=${program.id}">${count(program.affiliateCount)}</a>`],
      ['Created', day(program.createdAt, zone)],
    ])}</section>
${await ruleSection(request, program)}
${await placeSection(request, program)}`,
  }
}

const RULE_COLUMNS: Column[] = ['Kind', 'ID in the store', 'Commission', 'Since', ACTIONS]
const RULE_KINDS = [
  ['product', 'Product'],
  ['variant', 'Variant'],
] as const

async function ruleSection(request: PageRequest, { id }: Program): Promise<Html> {
  const { ctx, isOwner, query, form: submitted, zone } = request
  const { data, pagination } = await productRules.list(ctx, { programId: id, ...pageOf(query, 'rules') })
  const rows = data.map((rule) => [
    rule.kind === 'product' ? 'Product' : 'Variant',
    html`<code>${isolated(rule.value)}</code>`,
    rateText(rule.commissionType, rule.rate, ctx.shop.currency),
    day(rule.createdAt, zone),
    isOwner ? buttonForm(request, `${LIST}/${id}/rules/${rule.id}/delete`, 'Remove', `${rule.kind} ${rule.value}`) : '',
  ])
  return html`<h2>Product rates</h2>
<p class="hint">These products and variants earn a different rate.</p>
${rows.length ? table('Product rates', RULE_COLUMNS, rows) : html`<p>No product rates. All products earn the program rate.</p>`}
${pager(`${LIST}/${id}`, query, pagination, 'rules')}
${
  isOwner
    ? html`<details${submitted.has('kind') ? html` open` : ''}><summary>Add a product rate</summary><section class="card">${form(
        request,
        `${LIST}/${id}/rules`,
        html`<div class="fields">${select('kind', 'Kind', RULE_KINDS, submitted.get('kind') ?? 'product')}
${input(request, { name: 'value', label: 'ID in the store', required: true, ...limitsOf('createProductRule', 'value'), hint: 'Digits only.' })}
${select('commissionType', 'Commission', RATE_TYPES, submitted.get('commissionType') ?? 'PERCENT_OF_SALE')}
${input(request, { name: 'commissionPercent', label: 'Rate', required: true, maxlength: 20, hint: `In percent, or in ${ctx.shop.currency} for an amount.` })}</div>
<button class="main">Add rate</button>`,
      )}</section></details>`
    : ''
}`
}

async function addRule({ ctx, params, form }: PageRequest) {
  const body = {
    programId: params.id ?? '',
    kind: form.get('kind') ?? '',
    value: form.get('value')?.trim() ?? '',
    commissionType: form.get('commissionType') ?? '',
    commissionPercent: typedNumber('commissionPercent', form.get('commissionPercent')),
  }
  await productRules.create(ctx, validateBody('createProductRule', body))
  return { to: `${LIST}/${params.id}`, flash: { text: 'Product rate added.' } }
}

async function removeRule({ ctx, params }: PageRequest) {
  await productRules.remove(ctx, params.rule ?? '')
  return {
    to: `${LIST}/${params.id}`,
    flash: { text: 'Product rate removed. The product earns the program’s rate again.' },
  }
}

const PLACES = [
  { name: 'countries', label: 'Countries', hint: 'Two-letter codes or names, one per line: US, DE.' },
  { name: 'states', label: 'States', hint: 'One per line.' },
  { name: 'cities', label: 'Cities', hint: 'One per line.' },
  { name: 'postalPrefixes', label: 'Postal codes', hint: 'One per line. 902 matches 90210.' },
] as const

async function placeSection(request: PageRequest, { id }: Program): Promise<Html> {
  const { ctx, isOwner, form: submitted } = request
  const rule = await geoRules.find(ctx, id)
  const shown = PLACES.filter(({ name }) => rule?.[name].length)
  const content = shown.length
    ? facts(shown.map(({ name, label }) => [label, isolated(rule?.[name].join(', ') ?? '')] as const))
    : html`<p>No restrictions. Orders from anywhere earn a commission.</p>`
  return html`<h2>Regions</h2>
<p class="hint">If you add regions, only orders shipped there earn a commission. An order must match every list that is not empty.</p>
${content}
${
  isOwner
    ? html`<details${submitted.has('countries') ? html` open` : ''}><summary>Change the regions</summary><section class="card">${form(
        request,
        `${LIST}/${id}/places`,
        html`<div class="halves">${PLACES.map(({ name, label, hint }) => textarea(request, { name, label, hint, value: submitted.get(name) ?? rule?.[name].join('\n') ?? '', maxlength: 20_000 }))}</div>
<button class="main">Save regions</button> <span class="hint">An empty list removes its limit.</span>`,
      )}</section></details>`
    : ''
}`
}

async function setPlaces({ ctx, params, form }: PageRequest) {
  const id = params.id ?? ''
  const lines = (name: string) =>
    (form.get(name) ?? '')
      .split(/[\n,]/)
      .map((text) => text.trim())
      .filter(Boolean)
  const places = Object.fromEntries(PLACES.map(({ name }) => [name, lines(name)]))
  const to = `${LIST}/${id}`
  if (Object.values(places).every((list) => list.length === 0)) {
    await geoRules.remove(ctx, id)
    return { to, flash: { text: 'Regions removed. Orders from anywhere earn a commission.' } }
  }
  const body = Object.fromEntries(Object.entries(places).filter(([, list]) => list.length > 0))
  await geoRules.set(ctx, id, validateBody('setGeoRule', body))
  return { to, flash: { text: 'Regions saved.' } }
}

async function edit(request: PageRequest): Promise<View> {
  const program = await programs.find(request.ctx, request.params.id ?? '')
  return {
    title: `Edit ${program.name}`,
    crumb: { to: `${LIST}/${program.id}`, text: program.name },
    subjectId: program.id,
    lead: 'Changes apply to new orders. Recorded commissions keep their rate.',
    body: html`<section class="card narrow">${form(
      request,
      `${LIST}/${program.id}/edit`,
      html`${programFields(request, program)}
<div class="sticky"><button class="main">Save</button> <a class="button" href="${LIST}/${program.id}">Back</a></div>`,
    )}</section>`,
  }
}

async function change({ ctx, params, form }: PageRequest) {
  const { id } = await programs.update(ctx, params.id ?? '', validateBody('updateProgram', sentProgram(form)))
  return { to: `${LIST}/${id}`, flash: { text: 'Program saved. New orders use the new terms.' } }
}
