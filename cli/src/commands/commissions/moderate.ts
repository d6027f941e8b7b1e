import type { Commission, components } from '@referral/sdk'
import { CliError, type ExitCode, exitCode, unwrap, usageError } from '../../errors.ts'
import { formatMoney } from '../../money.ts'
import { counted } from '../../output/text.ts'
import { type PeriodOptions, readPeriod } from '../../period.ts'
import { confirm } from '../../prompt.ts'
import type { Run } from '../../run.ts'

type Action = components['schemas']['ModerationAction']
type Filter = NonNullable<components['schemas']['ModerationRequest']['filter']>
/** Commissions by ID, or all that match a filter. */
type ModerationInput = { action: Action } & ({ ids: string[] } | { filter: Filter })
type Status = components['schemas']['CommissionStatus']
type Result = components['schemas']['ModerationResult']

export interface ModerateOptions extends PeriodOptions {
  matching?: boolean
  affiliate?: string
  program?: string
  status?: string
  yes?: boolean
}

// The status after an action, so that repeating it is not an error.
const RESULTING_STATUS: Record<Action, Status> = {
  approve: 'APPROVED',
  reject: 'REJECTED',
  cancel: 'CANCELED',
  reverse: 'REVERSED',
  reopen: 'PENDING',
}
const IRREVERSIBLE: Action[] = ['cancel', 'reverse']

const capitalize = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)

/** Applies an action to commissions by ID, or to all that match the filters. */
export async function moderate(
  run: Run,
  { action, ids }: { action: Action; ids: string[] },
  options: ModerateOptions,
): Promise<ExitCode | undefined> {
  const filter = await parseFilter(run, options)
  if (Boolean(filter) === ids.length > 0) throw usageError('Pass commission ids, or --matching with filters.')
  if (filter) return moderateMatching(run, { action, filter }, options)
  if (run.dryRun) return preview(run, { action, ids })
  if (IRREVERSIBLE.includes(action))
    await confirm(run.context, `${capitalize(action)} ${ids.join(', ')}? This cannot be undone.`, options.yes)
  return ids.length === 1 ? moderateOne(run, action, ids[0] ?? '') : moderateMany(run, { action, ids })
}

async function parseFilter(run: Run, options: ModerateOptions): Promise<Filter | undefined> {
  const { matching, affiliate: affiliateId, program: programId, status } = options
  const period = await readPeriod(options, run)
  if (!matching && (affiliateId || programId || status || period)) throw usageError('Filters require --matching.')
  if (!matching) return undefined
  return { affiliateId, programId, status, ...period } as Filter
}

const requestModeration = async (run: Run, body: ModerationInput & { dryRun: boolean }): Promise<Result> =>
  unwrap(await (await run.ownerClient()).POST('/admin/v1/commissions/moderate', { body })).data

async function preview(run: Run, request: ModerationInput): Promise<undefined> {
  const result = await requestModeration(run, { ...request, dryRun: true })
  const { remaining, totals = [] } = result
  run.reporter.info(
    `Would ${request.action} ${counted(remaining, 'commission')}${amountsOf(totals)}. Dry run: nothing was changed.`,
  )
  run.printRecord(result)
}

/** `, 32.00 USD and 16.00 EUR`. */
const amountsOf = (totals: NonNullable<Result['totals']>): string =>
  totals.length === 0
    ? ''
    : `, ${totals.map(({ commissionCents, currency }) => formatMoney(commissionCents, currency)).join(' and ')}`

async function moderateOne(run: Run, action: Action, id: string): Promise<undefined> {
  const result = await (await run.ownerClient()).POST(`/admin/v1/commissions/{id}/${action}`, {
    params: { path: { id } },
  })
  // Only the message of the error contains the commission's status.
  const isAlreadyDone = result.error?.error.includes(` is ${RESULTING_STATUS[action]} and `)
  if (isAlreadyDone) {
    run.reporter.info(`${id} is already ${RESULTING_STATUS[action]}; nothing was changed.`)
    run.printRecord({ id, changed: false, orderStatus: RESULTING_STATUS[action] })
  } else run.printRecord({ ...(unwrap(result).data as Commission), changed: true })
}

async function moderateMany(run: Run, request: ModerationInput): Promise<ExitCode | undefined> {
  return report(run, await requestModeration(run, { ...request, dryRun: false }))
}

/** Counts the matches, asks for confirmation, and repeats until none are left. */
async function moderateMatching(
  run: Run,
  request: ModerationInput,
  { yes }: ModerateOptions,
): Promise<ExitCode | undefined> {
  if (run.dryRun) return preview(run, request)
  const { remaining, totals = [] } = await requestModeration(run, { ...request, dryRun: true })
  if (remaining === 0)
    throw new CliError(exitCode.notFound, 'No commission matches the filters.', { code: 'nothing_to_do' })
  await confirm(
    run.context,
    `${capitalize(request.action)} ${counted(remaining, 'commission')}${amountsOf(totals)}?`,
    yes,
  )
  const sum: Result = { action: request.action, dryRun: false, changed: 0, skipped: [], remaining }
  for (;;) {
    const batch = await requestModeration(run, { ...request, dryRun: false })
    sum.changed += batch.changed
    sum.skipped.push(...batch.skipped)
    sum.remaining = batch.remaining
    if (batch.remaining <= 0 || batch.changed === 0) return report(run, sum)
    run.reporter.info(`${sum.changed} changed, ${batch.remaining} remaining`)
  }
}

function report(run: Run, result: Result): ExitCode | undefined {
  for (const { id, code } of result.skipped.slice(0, 10)) run.reporter.warn(`${id}: ${code}`)
  run.printRecord(result)
  return result.skipped.length ? exitCode.partial : undefined
}
