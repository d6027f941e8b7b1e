import type { PayoutBatch, ReferralClient } from '@referral/sdk'
import { isInteractive } from '../../context.ts'
import { dayIn } from '../../days.ts'
import { CliError, exitCode } from '../../errors.ts'
import { formatMoney, parseTypedAmount, toDecimal } from '../../money.ts'
import { counted, sanitizeText } from '../../output/text.ts'
import { confirmationError, promptLine } from '../../prompt.ts'
import type { Run } from '../../run.ts'
import { checkTotal, dueCentsOf, readBatch } from './batches.ts'

export interface PayOptions {
  expectTotal?: number
  yes?: boolean
}

const NOTHING_PAID = 'Nothing was marked as paid. Check the batch before you change the total.'

/** Marks a batch as paid if its total equals the confirmed one. */
export async function pay(run: Run, id: string, options: PayOptions): Promise<undefined> {
  const client = await run.client()
  const batch = await readBatch(client, id)
  checkTotal(batch, options.expectTotal, NOTHING_PAID)
  if (batch.status === 'PAID') return report(run, batch, false)
  if (batch.status === 'FAILED')
    throw new CliError(
      exitCode.conflict,
      `Batch ${id} is FAILED and cannot be paid: ${batch.failureReason ?? 'unknown reason'}.`,
      {
        code: 'payout_not_payable',
      },
    )
  if (run.dryRun) {
    run.reporter.info('Dry run: nothing was marked as paid.')
    return report(run, batch, false)
  }
  await confirmTotal(run, batch, options)
  await payBatch(run, client, batch)
}

/** Requires the total, either typed at the prompt or as --expect-total with --yes. */
async function confirmTotal(run: Run, batch: PayoutBatch, { yes, expectTotal }: PayOptions): Promise<void> {
  if (yes && expectTotal !== undefined) return
  if (yes) throw confirmationError('--yes requires --expect-total.', 'Check the total with `referral payouts list`.')
  if (!isInteractive(run.context))
    throw confirmationError(
      'Confirmation is required, but there is no terminal.',
      'Add --yes and --expect-total <cents>.',
    )
  const due = dueCentsOf(batch)
  run.reporter.write(describe(batch, await run.timeZone()))
  const typed = await promptLine(run.context, `Type the total to confirm (${toDecimal(due, batch.currency)}): `)
  if (parseTypedAmount(typed, batch.currency) !== due)
    throw confirmationError('The total does not match. Nothing was marked as paid.')
}

function describe(batch: PayoutBatch, timeZone: string): string {
  const { id, periodStart, periodEnd, totals, returnedCents, currency } = batch
  const { commissions, affiliates, commissionCents, taxWithheldCents, netPayableCents } = totals
  const lines = [
    ['batch', id],
    ['period', `${dayIn(periodStart, timeZone)} to ${dayIn(periodEnd, timeZone)}`],
    ['commissions', `${commissions} of ${counted(affiliates, 'affiliate')}`],
    ['earned', formatMoney(commissionCents, currency)],
    ['tax withheld', formatMoney(taxWithheldCents, currency)],
    ['total', formatMoney(netPayableCents, currency)],
    ...(returnedCents
      ? [
          ['returned', `${formatMoney(returnedCents, currency)}, which the next batch pays`],
          ['to pay', formatMoney(dueCentsOf(batch), currency)],
        ]
      : []),
  ]
  return lines.map(([name = '', value = '']) => `  ${name.padEnd(14)}${sanitizeText(value)}\n`).join('')
}

/** Sends the total, so that the service rejects a batch that has changed. */
async function payBatch(run: Run, client: ReferralClient, batch: PayoutBatch): Promise<undefined> {
  const { error } = await client.payouts.pay(batch.id, { expectedTotalCents: batch.totals.netPayableCents }).safe()
  if (error && error.code !== 'payout_already_paid') throw error
  const current = await readBatch(client, batch.id)
  // Meanwhile, another request may have marked it as paid with a different total.
  if (error) checkTotal(current, dueCentsOf(batch), NOTHING_PAID)
  return report(run, current, !error)
}

function report(run: Run, { id, status, currency, totals, paidAt }: PayoutBatch, changed: boolean): undefined {
  if (status === 'PAID' && !changed) run.reporter.info('This batch is already paid; nothing was changed.')
  run.printRecord({
    id,
    changed,
    status,
    currency,
    netPayableCents: totals.netPayableCents,
    paidAt,
    dryRun: run.dryRun,
  })
}
