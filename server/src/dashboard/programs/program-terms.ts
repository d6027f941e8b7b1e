import { affiliateNotFound } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import { findExactly } from '../../domains/affiliates/search.ts'
import * as programs from '../../domains/programs/programs.ts'
import * as terms from '../../domains/programs/terms.ts'
import { field, form, hidden, input, limitsOf, select } from '../kit/form.ts'
import { day } from '../kit/format.ts'
import { type Html, html } from '../kit/html.ts'
import { ALL_ROLES, OWNER_ONLY, type PageRequest, type Route, type View, validateBody } from '../kit/route.ts'
import { ACTIONS, table, wideColumn } from '../kit/table.ts'
import { typedNumber } from './program-form.ts'

type Program = components['schemas']['Program']
type Rule = components['schemas']['TermsRule']
type Terms = components['schemas']['ProgramTerms']

const pathOf = (id: string) => `/admin/programs/${id}/terms`

export const programTermsRoutes: Route[] = [
  { path: '/programs/:id/terms', roles: ALL_ROLES, audit: 'program.shown', show },
  { path: '/programs/:id/terms', roles: OWNER_ONLY, act: save, page: show },
  { path: '/programs/:id/terms/rules', roles: OWNER_ONLY, act: addRule, page: show },
  { path: '/programs/:id/terms/rules/:rule/delete', roles: OWNER_ONLY, act: removeRule, page: show },
]

/** A common rule, with its fields and their initial values. */
interface Preset {
  title: string
  /** The field with a number: its label, and its value at first; undefined when it may be empty. */
  number?: [label: string, value: number | undefined]
  takesAffiliate?: boolean
  takesRate?: boolean
  condition: (number: number | undefined, affiliateId: string) => Rule['when']
}

const PRESETS: Record<string, Preset> = {
  months: {
    title: 'First year only',
    number: ['Months that are paid', 12],
    condition: (months = 0) => ({ customerMonth: { from: months } }),
  },
  orders: {
    title: 'First order only',
    number: ['Orders that are paid', 1],
    condition: (orders = 0) => ({ customerOrder: { from: orders + 1 } }),
  },
  step: {
    title: 'Step down',
    number: ['Months at the earlier rate', 12],
    takesRate: true,
    condition: (months = 0) => ({ customerMonth: { from: months } }),
  },
  tier: {
    title: 'Tier by month',
    number: ['Orders in the month before this rate', 10],
    takesRate: true,
    condition: (orders = 0) => ({ affiliateOrders: { from: orders, period: 'MONTH' } }),
  },
  personal: {
    title: 'Personal rate',
    number: ['Months that are paid (empty: no end)', undefined],
    takesAffiliate: true,
    takesRate: true,
    condition: (months, affiliateId) => ({
      affiliateIds: [affiliateId],
      ...(months !== undefined && { customerMonth: { to: months - 1 } }),
    }),
  },
}

const APPLIES_TO = [
  ['ORDERS', 'all new orders, including from known customers'],
  ['CUSTOMERS', 'new customers; others keep their first order’s terms'],
] as const

async function show(request: PageRequest): Promise<View> {
  const { ctx, isOwner, zone } = request
  const program = await programs.find(ctx, request.params.id ?? '')
  const current = await terms.find(ctx, program.id)
  return {
    title: 'Terms',
    crumb: { to: `/admin/programs/${program.id}`, text: program.name },
    subjectId: program.id,
    lead: current.summary,
    body: html`<p class="hint">Version ${current.version}, since ${day(current.createdAt, zone)}. A change counts for orders from now on; recorded commissions keep their version.</p>
${rulesOf(request, program, current)}${bindingHint(program, current)}
${
  isOwner
    ? html`<h2>Add a rule</h2><div class="halves">${Object.keys(PRESETS).map((name) => presetForm(request, { program, current, name }))}</div>
<h2>Hold and scope</h2><section class="card narrow">${holdForm(request, current)}</section>`
    : ''
}`,
  }
}

function rulesOf(request: PageRequest, program: Program, { version, rules }: Terms): Html {
  if (rules.length === 0) return html`<p>No rules. All orders earn the program’s rate.</p>`
  const texts = terms.ruleTexts(program, rules, request.ctx.shop.currency)
  const rows = texts.map((text, index) => [
    String(index + 1),
    text,
    request.isOwner
      ? form(
          request,
          `${pathOf(program.id)}/rules/${index}/delete`,
          html`${hidden('version', String(version))}<button class="small">Remove<span class="visually-hidden"> rule ${index + 1}</span></button>`,
        )
      : '',
  ])
  return html`<h2>Rules</h2><p class="hint">The first matching rule applies. Product rates apply to their lines, unless the rule pays nothing.</p>
${table('Rules', ['Rule', wideColumn('Pays'), ACTIONS], rows)}`
}

/** Renewals bring no code: without a binding, rules by the customer's months or orders never apply to them. */
function bindingHint({ id, lifetimeCommission }: Program, { rules }: Terms): Html | '' {
  if (lifetimeCommission || !rules.some(({ when }) => when.customerMonth || when.customerOrder)) return ''
  return html`<p class="hint">A renewal without a code or link is credited only if its customer is bound. Report sign-ups, or turn on lifetime commission in <a href="/admin/programs/${id}/edit">the program</a>.</p>`
}

interface Shown {
  program: Program
  current: Terms
  name: string
}

/** A preset's form, with one sentence that says what the terms would be with the initial values. */
function presetForm(request: PageRequest, { program, current, name }: Shown): Html {
  const { ctx, form: submitted } = request
  const { title, number, takesAffiliate, takesRate, condition } = PRESETS[name]!
  const isSent = submitted.get('preset') === name
  const value = (field: string, otherwise: string) => (isSent ? (submitted.get(field) ?? '') : otherwise)
  const commissionPercent = takesRate ? 10 : null
  const example = withRule(current, { when: condition(number?.[1], 'aff'), commissionPercent })
  return html`<section class="card"><h3>${title}</h3>
<p class="hint">${terms.summaryOf(program, { ...current, ...example }, { commissionType: program.commissionType, currency: ctx.shop.currency })}</p>
${form(
  request,
  `${pathOf(program.id)}/rules`,
  html`${hidden('preset', name)}${hidden('version', String(current.version))}<div class="fields">
${number ? input(request, { id: `${name}-number`, name: 'number', label: number[0], type: 'number', value: value('number', number[1] === undefined ? '' : String(number[1])), min: 1, max: 1200, required: number[1] !== undefined }) : ''}
${takesAffiliate ? input(request, { id: `${name}-affiliate`, name: 'affiliate', label: 'Affiliate', value: value('affiliate', ''), required: true, maxlength: 254, hint: 'Code or ID.' }) : ''}
${takesRate ? input(request, { id: `${name}-rate`, name: 'commissionPercent', label: 'Rate', value: value('commissionPercent', ''), required: true, maxlength: 20, hint: `In percent, or in ${ctx.shop.currency} for an amount.` }) : ''}</div>
<button class="main">Add</button>`,
)}</section>`
}

const holdForm = (request: PageRequest, current: Terms): Html =>
  form(
    request,
    pathOf(request.params.id ?? ''),
    html`${hidden('version', String(current.version))}${input(request, { name: 'holdDays', label: 'Hold', type: 'number', value: request.form.get('holdDays') ?? String(current.holdDays), required: true, ...limitsOf('setProgramTerms', 'holdDays'), hint: 'Days after an order before a payout can include its commission. 30 is common.' })}
${select('appliesTo', 'Changes apply to', APPLIES_TO, request.form.get('appliesTo') ?? current.appliesTo)}
<button class="main">Save</button>`,
  )

/** What a rule compares. Rules of one kind stay together. */
const kindOf = ({ when }: Rule): string => Object.keys(when).join()
const lowest = ({ when }: Rule): number =>
  Object.values(when).flatMap((range) => ('from' in range ? [range.from ?? 0] : []))[0] ?? 0

/**
 * Adds a rule where it counts: a personal rate first, then what pays nothing, which no tier should overrule, and of one kind
 * the one that begins later.
 */
function withRule({ rules }: Terms, rule: Rule): { rules: Rule[] } {
  if (rule.when.affiliateIds) return { rules: [rule, ...rules] }
  const others = rules.filter((existing) => kindOf(existing) !== kindOf(rule) || lowest(existing) !== lowest(rule))
  const isOfKind = (existing: Rule) => kindOf(existing) === kindOf(rule)
  const isLast = rule.commissionPercent !== null || others.some(isOfKind)
  const position = others.findIndex((existing) =>
    isLast
      ? isOfKind(existing) && lowest(existing) < lowest(rule)
      : !existing.when.affiliateIds && existing.commissionPercent !== null,
  )
  return { rules: others.toSpliced(position < 0 ? others.length : position, 0, rule) }
}

async function addRule(request: PageRequest) {
  const { ctx, form: submitted } = request
  const preset = PRESETS[submitted.get('preset') ?? ''] ?? PRESETS.months!
  const rule = {
    when: preset.condition(
      monthsOrOrders(preset, submitted),
      preset.takesAffiliate ? await affiliateIdOf(request) : '',
    ),
    commissionPercent: preset.takesRate ? typedNumber('commissionPercent', submitted.get('commissionPercent')) : null,
  }
  return replace(request, withRule(await terms.find(ctx, request.params.id ?? ''), rule))
}

function monthsOrOrders({ number }: Preset, submitted: URLSearchParams): number | undefined {
  const isEmpty = !submitted.get('number')?.trim()
  if (!number || (number[1] === undefined && isEmpty)) return undefined
  return typedNumber('number', submitted.get('number'))
}

async function affiliateIdOf({ ctx, form: submitted }: PageRequest): Promise<string> {
  const [affiliate] = await findExactly(ctx, field(submitted, 'affiliate') ?? '')
  if (!affiliate) throw affiliateNotFound()
  return affiliate.id
}

async function removeRule(request: PageRequest) {
  const { rules } = await terms.find(request.ctx, request.params.id ?? '')
  return replace(request, { rules: rules.filter((_, index) => String(index) !== request.params.rule) })
}

function save(request: PageRequest) {
  const { form: submitted } = request
  return replace(request, {
    holdDays: typedNumber('holdDays', submitted.get('holdDays')),
    appliesTo: submitted.get('appliesTo') as Terms['appliesTo'],
  })
}

/** Replaces the version that the form showed. */
async function replace({ ctx, params, form: submitted }: PageRequest, changes: Partial<Terms>) {
  const id = params.id ?? ''
  const { holdDays, appliesTo, rules } = await terms.find(ctx, id)
  const version = typedNumber('version', submitted.get('version'))
  const body = validateBody('setProgramTerms', { holdDays, appliesTo, rules, ...changes, version })
  const { summary } = await terms.set(ctx, id, body)
  return { to: pathOf(id), flash: { text: `Terms saved. ${summary}` } }
}
