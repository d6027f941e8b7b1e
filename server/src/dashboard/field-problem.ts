import type { ApiError, ErrorCode } from '../contract/errors.ts'
import { fieldOfLabel } from './error-text.ts'
import { type Html, html } from './html.ts'

/** The fields that conflicts are about. */
const FIELDS_OF_CODES: Partial<Record<ErrorCode, string>> = {
  alias_invalid: 'alias',
  alias_taken: 'alias',
  currency_in_use: 'currency',
  discount_code_taken: 'code',
  email_taken: 'email',
  payout_total_mismatch: 'total',
  refund_exceeds_order: 'amount',
  user_exists: 'email',
}

/** Fields of forms whose name is not that of the API. */
const NAMES_IN_FORMS: Readonly<Record<string, string>> = {
  amountCents: 'amount',
  minimumPayoutCents: 'minimumBatch',
  minimumPayoutCentsByCurrency: 'minimumBatch',
  minimumAffiliatePayoutCentsByCurrency: 'minimumAffiliate',
  periodStart: 'from',
  periodEnd: 'until',
  taxWithholdingBps: 'tax',
}

/** The field of the form that an error is about: the one that its message begins with, by name or by label. */
export function fieldOf({ status, code, message }: ApiError): string | undefined {
  const ofCode = FIELDS_OF_CODES[code]
  if (ofCode || status !== 400) return ofCode
  const [, name] = /^(?:The )?([a-z]\w*)/.exec(flatName(message)) ?? []
  const found = name ?? fieldOfLabel(message)
  return found && (NAMES_IN_FORMS[found] ?? found)
}

/** Fields of the debtor are named `debtorIban` in forms, and `debtor.iban` in the API. */
const flatName = (message: string): string =>
  message.replace(/^debtor\.(\w)/, (_all, first: string) => `debtor${first.toUpperCase()}`)

const CONTROL = /<(input|select|textarea)\b[^>]*>/g

/** The end of a control: a reason inside of a select or a label would not be shown, or would be part of its name. */
function endOf(tag: string): string {
  if (tag.startsWith('<select')) return '</select>'
  if (tag.startsWith('<textarea')) return '</textarea>'
  return /type="(checkbox|radio)"/.test(tag) ? '</label>' : ''
}

/** A field that was rejected. */
interface RejectedField {
  /** The path that its form is sent to. */
  action: string
  name: string
  text: string
}

/** A page with the reason under the field that was rejected, which is described by it and gets the focus. */
export async function withReason(page: Html, { action, name, text }: RejectedField): Promise<string> {
  const all = String(await page)
  const start = all.indexOf(`<form method="post" action="${action}"`)
  const end = all.indexOf('</form>', start)
  if (start === -1) return all
  const inner = all.slice(start, end)
  const found = [...inner.matchAll(CONTROL)].find(
    ([tag]) => tag.includes(` name="${name}"`) && !tag.includes('type="hidden"'),
  )
  if (!found) return all
  const [tag] = found
  const id = `${name}-problem`
  const described = tag.includes(' aria-describedby="')
    ? tag.replace(' aria-describedby="', ` aria-describedby="${id} `)
    : tag.replace(/>$/, ` aria-describedby="${id}">`)
  const marked = described.replace(/>$/, ' aria-invalid="true" autofocus>')
  const rest = inner.slice(found.index + tag.length)
  const close = endOf(tag)
  const after = close ? rest.indexOf(close) + close.length : 0
  const reason = await html`<p class="hint bad-text" id="${id}">${text}</p>`
  return [
    all.slice(0, start),
    inner.slice(0, found.index),
    marked,
    rest.slice(0, after),
    reason,
    rest.slice(after),
    all.slice(end),
  ].join('')
}
