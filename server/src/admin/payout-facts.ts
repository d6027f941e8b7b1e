import type { components } from '../http/schema.d.ts'
import { type Html, html } from './html.ts'
import { badge, day, money, time } from './show.ts'

type Batch = components['schemas']['PayoutBatch']

/** What there is to know about a batch, made or not. */
export const batchFacts = (batch: Batch): Html => {
  const { totals, heldBack, currency } = batch
  return html`<dl class="facts">
<div><dt>Period</dt><dd>${day(batch.periodStart)} – ${day(batch.periodEnd)}</dd></div>
${batch.id ? html`<div><dt>Status</dt><dd>${badge(batch.status)}${batch.failureReason ? html` <small>${batch.failureReason}</small>` : ''}</dd></div>` : ''}
<div><dt>To pay</dt><dd><strong>${money(totals.netPayableCents, currency)}</strong></dd></div>
<div><dt>Commissions</dt><dd>${totals.commissions}, ${money(totals.commissionCents, currency)}</dd></div>
<div><dt>Affiliates</dt><dd>${totals.affiliates}</dd></div>
<div><dt>Tax withheld</dt><dd>${money(totals.taxWithheldCents, currency)}</dd></div>
<div><dt>Held back</dt><dd>${heldBack.commissions ? `${heldBack.commissions}, ${money(heldBack.commissionCents, currency)} of archived or rejected affiliates` : 'nothing'}</dd></div>
${batch.id ? html`<div><dt>Created</dt><dd>${time(batch.createdAt)}</dd></div><div><dt>Paid</dt><dd>${time(batch.paidAt, 'not yet')}</dd></div>` : ''}
</dl>`
}
