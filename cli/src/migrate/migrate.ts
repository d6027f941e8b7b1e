import type { ReferralClient } from '@referral/sdk'
import { confirm } from '../ask.ts'
import { makeClient } from '../client.ts'
import { type Csv, readCsv } from '../csv/read.ts'
import { writeFailed } from '../events/failed.ts'
import { Pace } from '../events/pace.ts'
import type { FailedRow } from '../events/plan.ts'
import { Progress } from '../events/progress.ts'
import { CliError, type Exit, exit } from '../exit.ts'
import { plainText } from '../output/text.ts'
import type { Run } from '../run.ts'
import { isInteractive } from '../world.ts'
import { type Brought, bring, type Known } from './bring.ts'
import { addressKey, type Newcomer, planMigration } from './plan.ts'
import { predict } from './predict.ts'
import { providers } from './providers.ts'

export interface MigrateOptions {
  map?: string[]
  program?: string
  yes?: boolean
}

const COLUMNS = ['email', 'id', 'action', 'slug', 'ref', 'code', 'notes', 'leftOut']

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
  if (run.dryRun) return preview(run, csv, { file, newcomers, failed })
  if (newcomers.length && isInteractive(run.world))
    await confirm(run.world, `Create up to ${newcomers.length} affiliates?`, options.yes)
  const brought = await bringAll(run, newcomers, { failed, program: options.program })
  run.rows(brought, COLUMNS)
  for (const { row, problem } of failed.slice(0, 5)) run.talk.warn(`line ${row.line}: ${problem}`)
  if (failed.length) run.talk.warn(`${failed.length} rows failed: see ${writeFailed(csv, file, failed)}`)
  return endWith(run, brought, failed)
}

/** Names everything that was not kept. 8 when there is any, or a row failed. */
function endWith(
  run: Run,
  rows: readonly Pick<Brought, 'email' | 'leftOut'>[],
  failed: readonly FailedRow[],
): Exit | undefined {
  const left = rows.flatMap(({ email, leftOut }) => leftOut.map((what) => `${email}: left out: ${what}`))
  for (const line of left) run.talk.warn(line)
  return failed.length || left.length ? exit.partial : undefined
}

/** What a run would do and leave out. Reads the shop, and changes nothing. */
async function preview(
  run: Run,
  csv: Csv,
  { file, newcomers, failed }: { file: string; newcomers: readonly Newcomer[]; failed: readonly FailedRow[] },
): Promise<Exit | undefined> {
  run.talk.note('Dry run: nothing is changed.')
  for (const { row, problem } of failed) run.talk.warn(`line ${row.line}: ${problem}`)
  if (failed.length) run.talk.note(`The failed rows are in ${writeFailed(csv, file, failed)}`)
  const rows = predict(newcomers, await readKnown(await run.client()))
  run.rows(rows, ['email', 'name', 'action', 'slug', 'ref', 'code', 'notes', 'leftOut'])
  return endWith(run, rows, failed)
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
