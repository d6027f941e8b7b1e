import type { PayoutCreate, PayoutPreview, ReferralClient } from '@referral/sdk'
import { CliError, type ExitCode, exitCode } from '../exit.ts'
import { toFailure } from '../failure.ts'
import { formatMoney } from '../money.ts'
import type { Column } from '../output/render.ts'
import { type PeriodOptions, requirePeriod } from '../period.ts'
import type { Run } from '../run.ts'
import { createPerCurrency, isNothingToPay } from './currencies.ts'
import { describeUnpaid } from './late.ts'

export interface CreateOptions extends PeriodOptions {
  currency?: string
  eachCurrency?: boolean
  affiliate?: string[]
  program?: string
}

type CreateCall = (client: ReferralClient, body: PayoutCreate) => Promise<PayoutPreview>

/** Shows the batch that create would make, or makes it; then tells of what no batch of this period takes. */
export async function createBatch(
  run: Run,
  options: CreateOptions,
  { write, columns }: { write: boolean; columns: readonly Column<PayoutPreview>[] },
): Promise<ExitCode | undefined> {
  const body = toBody(run, options)
  const client = await run.client()
  const make: CreateCall = write
    ? (...asked) => create(run, ...asked)
    : async (_, asked) => client.payouts.preview(asked)
  try {
    if (options.eachCurrency) return await createBatches(run, client, { body, make, columns })
    const batch = await make(client, body)
    warnAboutHeldBack(run, batch)
    run.printRecord(batch)
  } catch (error) {
    throw await withUnpaidHint(run, client, { body, error })
  }
  if (!write) run.reporter.info('Nothing was written.')
  const late = await findUnpaid(run, client, body)
  if (late) run.reporter.warn(late)
}

function toBody(run: Run, options: CreateOptions): PayoutCreate {
  const { from, to } = requirePeriod(options, run.context.now())
  if (options.to && options.to !== to) run.reporter.info(`--to ${options.to} is read as the end of that day, ${to}`)
  if (Date.parse(to) > run.context.now())
    run.reporter.warn('This period is not over: later commissions will need another batch.')
  return {
    periodStart: from,
    periodEnd: to,
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
  make: CreateCall
  columns: readonly Column<PayoutPreview>[]
}

async function createBatches(
  run: Run,
  client: ReferralClient,
  { body, make, columns }: CreateInput,
): Promise<ExitCode | undefined> {
  const { batches, rejected: refused } = await createPerCurrency((asked) => make(client, asked), body)
  const [first] = refused
  if (batches.length === 0 && first) throw first.error
  for (const batch of batches) warnAboutHeldBack(run, batch)
  for (const { currency, error } of refused) run.reporter.warn(`${currency}: ${error.message}`)
  run.printRows(batches, columns)
  const late = await findUnpaid(run, client, body)
  if (late) run.reporter.warn(late)
  return refused.length ? exitCode.partial : undefined
}

/** The batch is what was asked for: a look aside that fails does not fail it. */
const findUnpaid = (run: Run, client: ReferralClient, body: PayoutCreate): Promise<string | undefined> =>
  describeUnpaid(client, body).catch((error: Error) => {
    run.reporter.info(`Whether earlier commissions wait was not found out: ${error.message}`)
    return undefined
  })

/** Where this period has nothing to pay, what waits from before is all there is: it is told as what to do. */
async function withUnpaidHint(
  run: Run,
  client: ReferralClient,
  { body, error }: { body: PayoutCreate; error: unknown },
): Promise<unknown> {
  if (!isNothingToPay(error)) return error
  const late = await findUnpaid(run, client, body)
  if (!late) return error
  const { exitCode: code, message, hint, ...facts } = toFailure(error)
  return new CliError(code, message, { ...facts, hint: [hint, late].filter(Boolean).join(' ') })
}

function warnAboutHeldBack(run: Run, { heldBack, currency }: Pick<PayoutPreview, 'heldBack' | 'currency'>): void {
  if (heldBack.commissions === 0) return
  const money = formatMoney(heldBack.commissionCents, currency)
  run.reporter.warn(`${heldBack.commissions} commissions (${money}) of archived or rejected affiliates are left out.`)
}
