import type { PayoutCreate, PayoutPreview, ReferralClient } from '@referral/sdk'
import { CliError, type Exit, exit } from '../exit.ts'
import { toFailure } from '../failure.ts'
import { showMoney } from '../money.ts'
import type { Column } from '../output/render.ts'
import { type PeriodOptions, requirePeriod } from '../period.ts'
import type { Run } from '../run.ts'
import { batchPerCurrency, isTooLittle } from './currencies.ts'
import { lateSentence } from './late.ts'

export interface CreateOptions extends PeriodOptions {
  currency?: string
  eachCurrency?: boolean
  affiliate?: string[]
  program?: string
}

type Make = (client: ReferralClient, body: PayoutCreate) => Promise<PayoutPreview>

/** Shows the batch that create would make, or makes it; then tells of what no batch of this period takes. */
export async function gather(
  run: Run,
  options: CreateOptions,
  { write, columns }: { write: boolean; columns: readonly Column<PayoutPreview>[] },
): Promise<Exit | undefined> {
  const body = toBody(run, options)
  const client = await run.client()
  const make: Make = write ? (...asked) => create(run, ...asked) : async (_, asked) => client.payouts.preview(asked)
  try {
    if (options.eachCurrency) return await gatherEach(run, client, { body, make, columns })
    const batch = await make(client, body)
    warnOfHeldBack(run, batch)
    run.record(batch)
  } catch (error) {
    throw await withLate(run, client, { body, error })
  }
  if (!write) run.talk.note('Nothing was written.')
  const late = await findLate(run, client, body)
  if (late) run.talk.warn(late)
}

function toBody(run: Run, options: CreateOptions): PayoutCreate {
  const { from, to } = requirePeriod(options, run.world.now())
  if (options.to && options.to !== to) run.talk.note(`--to ${options.to} is read as the end of that day, ${to}`)
  if (Date.parse(to) > run.world.now())
    run.talk.warn('This period is not over: later commissions will need another batch.')
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
  run.talk.note(`Next: referral payouts export ${batch.id}, then referral payouts pay ${batch.id}`)
  return batch
}

interface Each {
  body: PayoutCreate
  make: Make
  columns: readonly Column<PayoutPreview>[]
}

async function gatherEach(run: Run, client: ReferralClient, { body, make, columns }: Each): Promise<Exit | undefined> {
  const { batches, refused } = await batchPerCurrency((asked) => make(client, asked), body)
  const [first] = refused
  if (batches.length === 0 && first) throw first.error
  for (const batch of batches) warnOfHeldBack(run, batch)
  for (const { currency, error } of refused) run.talk.warn(`${currency}: ${error.message}`)
  run.rows(batches, columns)
  const late = await findLate(run, client, body)
  if (late) run.talk.warn(late)
  return refused.length ? exit.partial : undefined
}

/** The batch is what was asked for: a look aside that fails does not fail it. */
const findLate = (run: Run, client: ReferralClient, body: PayoutCreate): Promise<string | undefined> =>
  lateSentence(client, body).catch((error: Error) => {
    run.talk.note(`Whether earlier commissions wait was not found out: ${error.message}`)
    return undefined
  })

/** Where this period has nothing to pay, what waits from before is all there is: it is told as what to do. */
async function withLate(
  run: Run,
  client: ReferralClient,
  { body, error }: { body: PayoutCreate; error: unknown },
): Promise<unknown> {
  if (!isTooLittle(error)) return error
  const late = await findLate(run, client, body)
  if (!late) return error
  const { exit: code, message, hint, ...facts } = toFailure(error)
  return new CliError(code, message, { ...facts, hint: [hint, late].filter(Boolean).join(' ') })
}

function warnOfHeldBack(run: Run, { heldBack, currency }: Pick<PayoutPreview, 'heldBack' | 'currency'>): void {
  if (heldBack.commissions === 0) return
  const money = showMoney(heldBack.commissionCents, currency)
  run.talk.warn(`${heldBack.commissions} commissions (${money}) of archived or rejected affiliates are left out.`)
}
