import type { components } from '../contract/schema.d.ts'
import { facts } from './components.ts'
import { count as counts, day, money, time } from './format.ts'
import { type Html, html } from './html.ts'

type Batch = components['schemas']['PayoutBatch']

/** Both days of a period in the time zone of the shop. */
export const period = ({ periodStart, periodEnd }: Pick<Batch, 'periodStart' | 'periodEnd'>, zone: string): Html =>
  html`${day(periodStart, zone)} – ${day(periodEnd, zone)}`

/** The approved amount of a balance, and how much of it is on hold. */
export const approvedText = ({ approvedCents, onHoldCents, currency }: components['schemas']['Balance']): string =>
  `${money(approvedCents, currency)}${onHoldCents ? ` (${money(onHoldCents, currency)} on hold)` : ''}`

/** The facts of a batch or of its preview. */
export function batchFacts(batch: Batch, zone: string): Html {
  const { totals, heldBack, onHold, currency } = batch
  const heldBackText = `${counts(heldBack.commissions)}, ${money(heldBack.commissionCents, currency)} of archived or rejected affiliates`
  return facts(
    [
      // Of what was sent, payments can return; the payments below have the sums of each state.
      [batch.id === null ? 'To pay' : 'Total', money(totals.netPayableCents, currency)],
      ['Commissions', html`${counts(totals.commissions)} <small>${money(totals.commissionCents, currency)}</small>`],
      ['Affiliates', counts(totals.affiliates)],
      ['Tax withheld', money(totals.taxWithheldCents, currency)],
      [
        'On hold',
        onHold.nextAvailableAt === null
          ? undefined
          : html`<small>${counts(onHold.commissions)}, ${money(onHold.commissionCents, currency)}; from ${day(onHold.nextAvailableAt, zone)} on, a batch that includes earlier commissions pays it</small>`,
      ],
      ['Held back', heldBack.commissions ? html`<small>${heldBackText}</small>` : 'none'],
    ],
    'stats',
  )
}

/** When a batch was created and paid, and what it covers. */
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
