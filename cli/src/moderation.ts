import type { Commission, components } from '@referral/sdk'
import { confirm } from './ask.ts'
import { CliError, type Exit, exit, usage } from './exit.ts'
import { type PeriodOptions, readPeriod } from './period.ts'
import type { Run } from './run.ts'
import { dataOf } from './unwrap.ts'

type Action = components['schemas']['ModerationAction']
type Filter = NonNullable<components['schemas']['ModerationRequest']['filter']>
/** Commissions by id, or all that match. */
type Wanted = { action: Action } & ({ ids: string[] } | { filter: Filter })
type Status = components['schemas']['CommissionStatus']
type Result = components['schemas']['ModerationResult']

export interface ModerateOptions extends PeriodOptions {
  matching?: boolean
  affiliate?: string
  program?: string
  status?: string
  yes?: boolean
}

// What an action leads to, so that doing it twice is no failure.
const RESULTS: Record<Action, Status> = {
  approve: 'APPROVED',
  reject: 'REJECTED',
  cancel: 'CANCELED',
  reverse: 'REVERSED',
  reopen: 'PENDING',
}
const FINAL: Action[] = ['cancel', 'reverse']

/** Moves commissions by id, or all that match. */
export async function moderate(
  run: Run,
  { action, ids }: { action: Action; ids: string[] },
  options: ModerateOptions,
): Promise<Exit | undefined> {
  const filter = readFilter(run, options)
  if (Boolean(filter) === ids.length > 0) throw usage('Name commissions, or add --matching with conditions.')
  if (filter) return moderateMatching(run, { action, filter }, options)
  if (run.dryRun) return preview(run, { action, ids })
  if (FINAL.includes(action)) await confirm(run.world, `${action} ${ids.join(', ')}? It cannot be undone.`, options.yes)
  return ids.length === 1 ? moderateOne(run, action, ids[0] ?? '') : moderateSeveral(run, { action, ids })
}

function readFilter(run: Run, options: ModerateOptions): Filter | undefined {
  const { matching, affiliate: affiliateId, program: programId, status } = options
  const period = readPeriod(options, run.world.now())
  if (!matching && (affiliateId || programId || status || period)) throw usage('Conditions need --matching.')
  if (!matching) return undefined
  return { affiliateId, programId, status, ...period } as Filter
}

const ask = async (run: Run, body: Wanted & { dryRun: boolean }): Promise<Result> =>
  dataOf(await (await run.owner()).POST('/admin/v1/commissions/moderate', { body })).data

async function preview(run: Run, request: Wanted): Promise<undefined> {
  run.talk.note('Dry run: nothing was changed.')
  run.record(await ask(run, { ...request, dryRun: true }))
}

async function moderateOne(run: Run, action: Action, id: string): Promise<undefined> {
  const result = await (await run.owner()).POST(`/admin/v1/commissions/{id}/${action}`, { params: { path: { id } } })
  // The one place that names the status of a refused commission is the sentence.
  const isSo = result.error?.error.includes(` is ${RESULTS[action]} and `)
  if (isSo) {
    run.talk.note(`${id} was ${RESULTS[action]} before; nothing was changed.`)
    run.record({ id, changed: false, orderStatus: RESULTS[action] })
  } else run.record({ ...(dataOf(result).data as Commission), changed: true })
}

async function moderateSeveral(run: Run, request: Wanted): Promise<Exit | undefined> {
  return finish(run, await ask(run, { ...request, dryRun: false }))
}

/** Counts first and asks; then goes on until nothing that matches is left. */
async function moderateMatching(run: Run, request: Wanted, { yes }: ModerateOptions): Promise<Exit | undefined> {
  const { remaining } = await ask(run, { ...request, dryRun: true })
  if (run.dryRun) return preview(run, request)
  if (remaining === 0) throw new CliError(exit.notFound, 'No commission matches.', { code: 'nothing_to_do' })
  await confirm(run.world, `${request.action} ${remaining} commissions?`, yes)
  const sum: Result = { action: request.action, dryRun: false, changed: 0, skipped: [], remaining }
  for (;;) {
    const part = await ask(run, { ...request, dryRun: false })
    sum.changed += part.changed
    sum.skipped.push(...part.skipped)
    sum.remaining = part.remaining
    if (part.remaining <= 0 || part.changed === 0) return finish(run, sum)
    run.talk.note(`${sum.changed} done, ${part.remaining} left`)
  }
}

function finish(run: Run, result: Result): Exit | undefined {
  for (const { id, code } of result.skipped.slice(0, 10)) run.talk.warn(`${id}: ${code}`)
  run.record(result)
  return result.skipped.length ? exit.partial : undefined
}
