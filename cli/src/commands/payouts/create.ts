import type { components, PayoutCreate, PayoutPreview, ReferralClient } from '@referral/sdk'
import { CliError, type ExitCode, exitCode, toFailure } from '../../errors.ts'
import { formatMoney } from '../../money.ts'
import type { Column } from '../../output/render.ts'
import { type PeriodOptions, requirePeriod } from '../../period.ts'
import type { Run } from '../../run.ts'
import { createPerCurrency, isNothingToPay } from './batches.ts'
import { describeUnpaid } from './unpaid.ts'

export interface CreateOptions extends PeriodOptions {
  currency?: string
  eachCurrency?: boolean
  affiliate?: string[]
  program?: string
  includeEarlier?: boolean
}

type PayoutLine = components['schemas']['PayoutLine']
type CreateCall = (client: ReferralClient, body: PayoutCreate) => Promise<PayoutPreview>

/** Creates or previews a batch, and reports the balances that it does not pay. */
export async function createBatch(
  run: Run,
  options: CreateOptions,
  { write, columns }: { write: boolean; columns: readonly Column<PayoutPreview>[] },
): Promise<ExitCode | undefined> {
  const body = await toBody(run, options)
  const client = await run.client()
  const send: CreateCall = write
    ? (...args) => create(run, ...args)
    : async (_, request) => client.payouts.preview(request)
  try {
    if (options.eachCurrency) return await createBatches(run, client, { body, send, columns })
    printBatch(run, await send(client, body), columns)
  } catch (error) {
    throw await withUnpaidHint(run, client, { body, error })
  }
  if (!write) run.reporter.info('Preview: nothing was created.')
  await warnAboutUnpaid(run, client, body)
}

const PAYEE_COLUMNS = (currency: string): Column<PayoutLine>[] => [
  'affiliateId',
  'name',
  'email',
  'commissions',
  { field: 'netPayableCents', title: 'net', format: (line) => formatMoney(line.netPayableCents, currency) },
]

/** A preview lists the payees. On a terminal, batch and payees are tables, with days in the shop's time zone. */
function printBatch(run: Run, batch: PayoutPreview, columns: readonly Column<PayoutPreview>[]): void {
  if (run.style.format !== 'table') {
    run.printRecord(batch)
    return
  }
  run.printRows([batch], columns)
  const { lines, currency, totals } = batch
  if (!lines) return
  run.printText('\n')
  run.printRows(lines, PAYEE_COLUMNS(currency))
  if (lines.length < totals.affiliates)
    run.reporter.info(`showing the largest ${lines.length} of ${totals.affiliates} payees`)
}

async function toBody(run: Run, options: CreateOptions): Promise<PayoutCreate> {
  const { from, to } = await requirePeriod(options, run)
  if (options.to && options.to !== to) run.reporter.info(`--to ${options.to} means the end of that day, ${to}`)
  if (Date.parse(to) > run.context.now())
    run.reporter.warn('This period has not ended. Later commissions need another batch.')
  return {
    periodStart: from,
    periodEnd: to,
    ...(options.includeEarlier ? { includeEarlier: true } : {}),
    ...(options.currency ? { currency: options.currency.toUpperCase() } : {}),
    ...(options.affiliate ? { affiliateIds: options.affiliate } : {}),
    ...(options.program ? { programId: options.program } : {}),
  }
}

async function create(run: Run, client: ReferralClient, body: PayoutCreate): Promise<PayoutPreview> {
  const batch = await client.payouts.create(body)
  run.reporter.info(`Next: referral payouts export ${batch.id}, then referral payouts pay ${batch.id}`)
  return batch
}

interface CreateInput {
  body: PayoutCreate
  send: CreateCall
  columns: readonly Column<PayoutPreview>[]
}

async function createBatches(
  run: Run,
  client: ReferralClient,
  { body, send, columns }: CreateInput,
): Promise<ExitCode | undefined> {
  const { batches, rejected } = await createPerCurrency((request) => send(client, request), body)
  const [first] = rejected
  if (batches.length === 0 && first) throw first.error
  for (const { currency, error } of rejected) run.reporter.warn(`${currency}: ${error.message}`)
  run.printRows(batches, columns)
  await warnAboutUnpaid(run, client, body)
  return rejected.length ? exitCode.partial : undefined
}

async function warnAboutUnpaid(run: Run, client: ReferralClient, body: PayoutCreate): Promise<void> {
  for (const sentence of await findUnpaid(run, client, body)) run.reporter.warn(sentence)
}

/** A failure here does not fail the command, because its result is the batch. */
const findUnpaid = (run: Run, client: ReferralClient, body: PayoutCreate): Promise<string[]> =>
  describeUnpaid(client, body).catch((error: Error) => {
    run.reporter.info(`Cannot check for unpaid balances: ${error.message}`)
    return []
  })

/** If the period has nothing to pay, adds the unpaid balances to the hint. */
async function withUnpaidHint(
  run: Run,
  client: ReferralClient,
  { body, error }: { body: PayoutCreate; error: unknown },
): Promise<unknown> {
  if (!isNothingToPay(error)) return error
  const unpaid = await findUnpaid(run, client, body)
  if (unpaid.length === 0) return error
  const { exitCode: code, message, hint, ...facts } = toFailure(error)
  return new CliError(code, message, { ...facts, hint: [hint, ...unpaid].filter(Boolean).join(' ') })
}
