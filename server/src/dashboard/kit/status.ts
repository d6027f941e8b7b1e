import { type Html, html } from './html.ts'

type Tone = 'good' | 'wait' | 'bad' | 'info'

const TONES: Record<string, Tone> = {
  APPROVED: 'good',
  ACTIVE: 'good',
  ACCEPTED: 'good',
  PAID: 'good',
  SENT: 'good',
  PUBLISH: 'good',
  active: 'good',
  enabled: 'good',
  CREDITED: 'good',
  WON: 'good',
  PENDING: 'wait',
  RESTRICTED: 'wait',
  OPEN: 'wait',
  PROCESSING: 'wait',
  RETRYING: 'wait',
  SETTLED: 'good',
  READY: 'info',
  PAYABLE: 'info',
  PRIVATE: 'info',
  FAILED: 'bad',
  REJECTED: 'bad',
  CANCELED: 'bad',
  REVERSED: 'bad',
  REFUNDED: 'bad',
  BLOCKED: 'bad',
  RETURNED: 'bad',
  REVIEW: 'wait',
  revoked: 'bad',
  expired: 'bad',
  disabled: 'bad',
}

/** Statuses whose API name is not what people say. */
const NAMES: Record<string, string> = {
  PUBLISH: 'Published',
  NOBODY: 'No affiliate',
  PAYPAL: 'PayPal',
  SEPA: 'SEPA',
  CSV: 'CSV',
}

/** A readable name for a status or another API constant: `FLAT_PER_ORDER` becomes `Flat per order`. */
export function nameOf(status: string): string {
  const text = status.toLowerCase().replaceAll('_', ' ')
  return NAMES[status] ?? `${text[0]?.toUpperCase()}${text.slice(1)}`
}

/** Renders a status as a colored badge. */
export const badge = (status: string): Html =>
  html`<span class="badge ${TONES[status] ?? 'plain'}">${nameOf(status)}</span>`
