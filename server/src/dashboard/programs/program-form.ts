import { invalidField } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import { typedAmount } from '../kit/amount-input.ts'
import { checkbox, input, limitsOf, select, textarea } from '../kit/form.ts'
import { type Html, html } from '../kit/html.ts'
import type { PageRequest } from '../kit/route.ts'

type Program = components['schemas']['Program']

export const RATE_TYPES = [
  ['PERCENT_OF_SALE', 'Percent of goods'],
  ['FLAT_PER_ORDER', 'Amount per order'],
  ['FLAT_PER_ITEM', 'Amount per item'],
] as const

const STATUSES = [
  ['DRAFT', 'Draft'],
  ['PRIVATE', 'Private'],
  ['PUBLISH', 'Published'],
] as const

/** A program's or rule's rate as typed: percent, or units of the shop's currency. */
export const typedRate = (
  { commissionType, rate }: { commissionType: string; rate: number },
  currency: string,
): string => (commissionType === 'PERCENT_OF_SALE' ? String(rate / 100) : typedAmount(rate, currency))

/** A program's fields. An existing program has additional ones. */
export function programFields(request: PageRequest, known: Program | undefined): Html {
  const { form: submitted, ctx } = request
  const text = (name: string, otherwise: string) => (submitted.size ? (submitted.get(name) ?? '') : otherwise)
  const isOn = (name: string, otherwise: boolean | undefined) =>
    submitted.size ? submitted.has(name) : Boolean(otherwise)
  const rate =
    known && typedRate({ commissionType: known.commissionType, rate: known.defaultCommissionBps }, ctx.shop.currency)
  return html`${input(request, { name: 'name', label: 'Name', value: text('name', known?.name ?? ''), required: true, ...limitsOf('updateProgram', 'name') })}
${textarea(request, { name: 'description', label: 'Description', value: text('description', known?.description ?? ''), ...limitsOf('updateProgram', 'description'), hint: 'For you and your affiliates.' })}
<div class="fields">${select('commissionType', 'Commission', RATE_TYPES, text('commissionType', known?.commissionType ?? 'PERCENT_OF_SALE'))}
${input(request, { name: 'commissionPercent', label: 'Rate', value: text('commissionPercent', rate ?? '16'), required: true, maxlength: 20, hint: `In percent, or in ${ctx.shop.currency} for an amount.` })}
${input(request, { name: 'cookieDurationDays', label: 'Click window', type: 'number', value: text('cookieDurationDays', String(known?.cookieDurationDays ?? 30)), required: true, ...limitsOf('updateProgram', 'cookieDurationDays'), hint: 'How many days a click counts. With 0, links earn nothing.' })}
${select('status', 'Status', STATUSES, text('status', known?.status ?? 'PUBLISH'), { hint: 'Who sees the program. Affiliates earn in every status.' })}</div>
<fieldset><legend>Approval</legend>
${checkbox('autoApproveAffiliate', 'Approve new affiliates automatically', isOn('autoApproveAffiliate', known?.autoApproveAffiliate))}
${checkbox('autoApproveOrder', 'Approve commissions automatically', isOn('autoApproveOrder', known?.autoApproveOrder), 'Otherwise, each commission awaits your approval.')}</fieldset>
${known ? laterFields(request, { text, isOn, known }) : ''}`
}

interface LaterFields {
  text: (name: string, otherwise: string) => string
  isOn: (name: string, otherwise: boolean | undefined) => boolean
  known: Program
}

function laterFields(request: PageRequest, { text, isOn, known }: LaterFields): Html {
  return html`<fieldset><legend>Customers</legend>
${checkbox('lifetimeCommission', 'Lifetime commission', isOn('lifetimeCommission', known.lifetimeCommission), 'A customer’s first order connects them to the affiliate permanently.')}
${checkbox('discountEnabled', 'The code gives a discount', isOn('discountEnabled', known.discountEnabled), 'Shown with each code. Your store applies the discount.')}</fieldset>
<div class="fields">${select(
    'discountType',
    'Discount',
    [
      ['PERCENT', 'Percent'],
      ['FIXED', `Amount in ${request.ctx.shop.currency}`],
    ],
    text('discountType', known.discountType ?? 'PERCENT'),
  )}
${input(request, { name: 'discountValue', label: 'Value', value: text('discountValue', known.discountValue === null ? '' : String(known.discountValue)), maxlength: 20 })}</div>`
}

/** A typed number. @throws ApiError 400 for other text. */
export function typedNumber(name: string, text: string | null): number {
  const bare = (text ?? '').trim().replace(/%$/, '')
  if (!/^-?\d{1,12}(\.\d{1,6})?$/.test(bare))
    throw invalidField('invalid_body', name, `must be a number, such as 12.5.`)
  return Number(bare)
}

/** Converts the form's fields to the API's. */
export function sentProgram(form: URLSearchParams) {
  const discount = form.get('discountValue')?.trim()
  return {
    name: form.get('name') ?? '',
    description: form.get('description')?.trim() || null,
    commissionType: form.get('commissionType') ?? '',
    commissionPercent: typedNumber('commissionPercent', form.get('commissionPercent')),
    cookieDurationDays: typedNumber('cookieDurationDays', form.get('cookieDurationDays')),
    autoApproveAffiliate: form.has('autoApproveAffiliate'),
    autoApproveOrder: form.has('autoApproveOrder'),
    status: form.get('status') ?? '',
    lifetimeCommission: form.has('lifetimeCommission'),
    discountEnabled: form.has('discountEnabled'),
    discountType: discount ? (form.get('discountType') ?? '') : null,
    discountValue: discount ? typedNumber('discountValue', discount) : null,
  }
}
