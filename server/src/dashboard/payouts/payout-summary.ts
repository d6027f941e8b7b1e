import type { components } from '../../contract/schema.d.ts'
import { facts } from '../kit/components.ts'
import { count as counts, day, money, time } from '../kit/format.ts'
import { type Html, html } from '../kit/html.ts'

type Batch = components['schemas']['PayoutBatch']

/** A period's first and last day in the shop's time zone. */
export const period = ({ periodStart, periodEnd }: Pick<Batch, 'periodStart' | 'periodEnd'>, zone: string): Html =>
  html`${day(periodStart, zone)} – ${day(periodEnd, zone)}`

/** A balance's approved amount, and how much of it is on hold. */
export const approvedText = ({ approvedCents, onHoldCents, currency }: components['schemas']['Balance']): string =>
  `${money(approvedCents, currency)}${onHoldCents ? ` (${money(onHoldCents, currency)} on hold)` : ''}`

/** Key figures of a batch or its preview. */
export function batchFacts(batch: Batch, zone: string): Html {
  const { totals, heldBack, onHold, currency } = batch
  const heldBackText = `${counts(heldBack.commissions)}, ${money(heldBack.commissionCents, currency)}: archived or rejected affiliates`
  return facts(
    [
      // The total includes payments that were returned later. The payments below have totals by state.
      [batch.id === null ? 'To pay' : 'Total', money(totals.netPayableCents, currency)],
      ['Commissions', html`${counts(totals.commissions)} <small>${money(totals.commissionCents, currency)}</small>`],
      ['Affiliates', counts(totals.affiliates)],
      ['Tax withheld', money(totals.taxWithheldCents, currency)],
      [
        'On hold',
        onHold.nextAvailableAt === null
          ? undefined
          : html`<small>${counts(onHold.commissions)}, ${money(onHold.commissionCents, currency)}; payable from ${day(onHold.nextAvailableAt, zone)} in a batch that includes earlier commissions</small>`,
      ],
      ['Held back', heldBack.commissions ? html`<small>${heldBackText}</small>` : 'none'],
    ],
    'stats',
  )
}

/** When a batch was created and paid, and its period. */
export const batchAbout = (batch: Batch, zone: string): Html =>
  facts(
    [
      ['Period', html`${period(batch, zone)}${batch.includeEarlier ? ', and earlier' : ''}`],
      ['Created', batch.id ? time(batch.createdAt, '–', zone) : undefined],
      ['Paid', batch.id && batch.status !== 'FAILED' ? time(batch.paidAt, 'not yet', zone) : undefined],
      ['Failure reason', batch.failureReason ?? undefined],
      ['ID', batch.id ? html`<code>${batch.id}</code>` : undefined],
    ],
    'facts one',
  )
