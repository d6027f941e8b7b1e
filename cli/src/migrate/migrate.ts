import type { ReferralClient } from '@referral/sdk'
import { confirm } from '../ask.ts'
import { makeClient } from '../client.ts'
import { readCsv } from '../csv/read.ts'
import { writeFailed } from '../events/failed.ts'
import { Pace } from '../events/pace.ts'
import type { FailedRow } from '../events/plan.ts'
import { Progress } from '../events/progress.ts'
import { CliError, type Exit, exit } from '../exit.ts'
import { plainText } from '../output/text.ts'
import type { Run } from '../run.ts'
import { isInteractive } from '../world.ts'
import { type Brought, bring, type Known } from './bring.ts'
import { addressKey, fitsCode, foretellRef, type Newcomer, planMigration } from './plan.ts'
import { providers } from './providers.ts'

export interface MigrateOptions {
  map?: string[]
  program?: string
  yes?: boolean
}

const COLUMNS = ['email', 'id', 'action', 'slug', 'ref', 'code', 'notes']

/** Brings the affiliates of another service over; what is there already is left as it is. */
export async function migrate(
  run: Run,
  [name = '', file = '']: string[],
  options: MigrateOptions,
): Promise<Exit | undefined> {
  const provider = providers[name]
  if (!provider) throw new Error(`no provider ${name}`)
  const csv = readCsv(file)
  const { mapping, newcomers, failed } = planMigration(csv, provider, options.map)
  run.talk.note(
    `${provider.title}: ${Object.entries(mapping)
      .map(([field, column]) => `${field} from ${column}`)
      .join(', ')}`,
  )
  if (run.dryRun) return foretell(run, newcomers, failed)
  if (newcomers.length && isInteractive(run.world))
    await confirm(run.world, `Create up to ${newcomers.length} affiliates?`, options.yes)
  const brought = await bringAll(run, newcomers, { failed, program: options.program })
  run.rows(brought, COLUMNS)
  for (const { row, problem } of failed.slice(0, 5)) run.talk.warn(`line ${row.line}: ${problem}`)
  if (failed.length) run.talk.warn(`${failed.length} rows failed: see ${writeFailed(csv, file, failed)}`)
  const lost = brought.filter(({ ref }) => ref === 'lost')
  if (lost.length) run.talk.warn(`The links of ${lost.length} affiliates do not work any more; see their notes.`)
  return failed.length || lost.length ? exit.partial : undefined
}

/** Without asking the service: what can be kept, and what cannot. */
function foretell(run: Run, newcomers: readonly Newcomer[], failed: readonly FailedRow[]): Exit | undefined {
  run.talk.note('Dry run: nothing was sent.')
  for (const { row, problem } of failed) run.talk.warn(`line ${row.line}: ${problem}`)
  const rows = newcomers.map(({ email, name, status, ref, coupon, notes }) => ({
    email,
    name,
    status,
    ref: foretellRef({ ref, coupon }),
    code: coupon && fitsCode(coupon) ? coupon : null,
    notes: notes.join('; '),
  }))
  run.rows(rows, ['email', 'name', 'status', 'ref', 'code', 'notes'])
  return failed.length || rows.some(({ ref }) => ref === 'lost') ? exit.partial : undefined
}

async function bringAll(
  run: Run,
  newcomers: readonly Newcomer[],
  { failed, program }: { failed: FailedRow[]; program: string | undefined },
): Promise<Brought[]> {
  const stop = run.catchInterrupt()
  const progress = new Progress(run.talk, newcomers.length)
  const pace = new Pace({ signal: stop.signal, onWait: (seconds) => progress.wait(seconds) })
  const client = await makeClient(run.apiKey, run.settings, { globals: { ...run.globals, wait: true }, talk: run.talk })
  const known = await readKnown(client)
  const brought: Brought[] = []
  for (const newcomer of newcomers) {
    if (stop.interrupted)
      throw new CliError(exit.interrupted, 'Interrupted; run it again for the rest.', { code: 'interrupted' })
    await pace.turn()
    try {
      brought.push(await bring(client, newcomer, { known, program }))
    } catch (error) {
      failed.push({ row: newcomer.row, problem: problemOf(error) })
    }
    pace.landed(client.rateLimit)
    progress.step()
  }
  progress.end()
  return brought
}

async function readKnown(client: ReferralClient): Promise<Known> {
  const known: Known = new Map()
  for await (const affiliate of client.affiliates.list()) known.set(addressKey(affiliate.email), affiliate)
  return known
}

/** What is wrong with this affiliate; anything else ends the run. */
function problemOf(error: unknown): string {
  const { status, message } = error as { status?: number; message: string }
  if (status === 400 || status === 409) return plainText(message)
  throw error
}
