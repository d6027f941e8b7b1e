import type { PayoutBatch, ReferralClient } from '@referral/sdk'
import { confirmationError, promptLine } from '../ask.ts'
import { CliError, exitCode } from '../exit.ts'
import { formatMoney, parseTypedAmount, toDecimal } from '../money.ts'
import { sanitizeText } from '../output/text.ts'
import type { Run } from '../run.ts'
import { isInteractive } from '../world.ts'
import { readBatch } from './batch.ts'

export interface PayOptions {
  expectTotal?: number
  yes?: boolean
}

/** Pays the total that somebody saw and confirmed, or nothing. */
export async function pay(run: Run, id: string, options: PayOptions): Promise<undefined> {
  const client = await run.client()
  const batch = await readBatch(client, id)
  checkTotal(batch, options.expectTotal)
  if (batch.status === 'PAID') return report(run, batch, false)
  if (batch.status === 'FAILED')
    throw new CliError(
      exitCode.conflict,
      `This batch is FAILED and cannot be paid: ${batch.failureReason ?? 'no reason is known'}.`,
      {
        code: 'payout_not_payable',
      },
    )
  if (run.dryRun) {
    run.reporter.info('Dry run: nothing was paid.')
    return report(run, batch, false)
  }
  await confirmTotal(run, batch, options)
  await payBatch(run, client, batch)
}

function checkTotal({ id, totals, currency }: PayoutBatch, expected: number | undefined): void {
  const net = totals.netPayableCents
  if (expected === undefined || expected === net) return
  throw new CliError(
    exitCode.conflict,
    `Batch ${id} pays ${net} cents (${formatMoney(net, currency)}), not the ${expected} you expect.`,
    {
      code: 'payout_total_mismatch',
      hint: 'Nothing was paid. Look at the batch again before you change the total.',
    },
  )
}

/** The total is typed by somebody who sees it, or stands in --expect-total beside --yes. */
async function confirmTotal(run: Run, batch: PayoutBatch, { yes, expectTotal }: PayOptions): Promise<void> {
  if (yes && expectTotal !== undefined) return
  if (yes)
    throw confirmationError(
      '--yes needs --expect-total: a total that nobody has seen is not paid.',
      'Take it from `referral payouts list`.',
    )
  if (!isInteractive(run.context))
    throw confirmationError(
      'Paying needs a confirmation, and there is no terminal to ask on.',
      'Add --yes and --expect-total <cents>.',
    )
  const { totals, currency } = batch
  run.reporter.write(describe(batch))
  const typed = await promptLine(
    run.context,
    `Type the total to pay it (${toDecimal(totals.netPayableCents, currency)}): `,
  )
  if (parseTypedAmount(typed, currency) !== totals.netPayableCents)
    throw confirmationError('That is not the total. Nothing was paid.')
}

function describe({ id, periodStart, periodEnd, totals, currency }: PayoutBatch): string {
  const { commissions, affiliates, commissionCents, taxWithheldCents, netPayableCents } = totals
  const lines = [
    ['batch', id],
    ['period', `${periodStart} to ${periodEnd}`],
    ['commissions', `${commissions} of ${affiliates} affiliates`],
    ['earned', formatMoney(commissionCents, currency)],
    ['tax withheld', formatMoney(taxWithheldCents, currency)],
    ['total', formatMoney(netPayableCents, currency)],
  ]
  return lines.map(([name = '', value = '']) => `  ${name.padEnd(14)}${sanitizeText(value)}\n`).join('')
}

/** The total goes along, so that the service refuses a batch that changed meanwhile. */
async function payBatch(run: Run, client: ReferralClient, batch: PayoutBatch): Promise<undefined> {
  const { error } = await client.payouts.pay(batch.id, { expectedTotalCents: batch.totals.netPayableCents }).safe()
  if (error && error.code !== 'payout_already_paid') throw error
  const now = await readBatch(client, batch.id)
  // Somebody else may have paid it between our two looks, and then perhaps another total.
  if (error) checkTotal(now, batch.totals.netPayableCents)
  return report(run, now, !error)
}

function report(run: Run, { id, status, currency, totals, paidAt }: PayoutBatch, changed: boolean): undefined {
  if (status === 'PAID' && !changed) run.reporter.info('This batch was paid before; nothing was changed.')
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
