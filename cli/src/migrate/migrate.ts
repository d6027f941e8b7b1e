import type { ReferralClient } from '@referral/sdk'
import { confirm } from '../ask.ts'
import { createClient } from '../client.ts'
import { type Csv, readCsv } from '../csv/read.ts'
import { writeFailedRows } from '../events/failed.ts'
import { RateLimiter } from '../events/pace.ts'
import type { FailedRow } from '../events/plan.ts'
import { Progress } from '../events/progress.ts'
import { CliError, type ExitCode, exitCode } from '../exit.ts'
import { sanitizeText } from '../output/text.ts'
import type { Run } from '../run.ts'
import { isInteractive } from '../world.ts'
import { type ExistingAffiliates, type ImportResult, importAffiliate } from './bring.ts'
import { addressKey, planImport, type SourceAffiliate } from './plan.ts'
import { previewImport } from './predict.ts'
import { providers } from './providers.ts'

export interface ImportOptions {
  map?: string[]
  program?: string
  yes?: boolean
}

const COLUMNS = ['email', 'id', 'action', 'slug', 'ref', 'code', 'notes', 'leftOut']

/** Brings the affiliates of another service over; what is there already is left as it is. */
export async function importAffiliates(
  run: Run,
  [name = '', file = '']: string[],
  options: ImportOptions,
): Promise<ExitCode | undefined> {
  const provider = providers[name]
  if (!provider) throw new Error(`no provider ${name}`)
  const csv = readCsv(file)
  const { mapping, newcomers, failed } = planImport(csv, provider, options.map)
  run.reporter.info(
    `${provider.title}: ${Object.entries(mapping)
      .map(([field, column]) => `${field} from ${column}`)
      .join(', ')}`,
  )
  if (run.dryRun) return preview(run, csv, { file, newcomers, failed })
  if (newcomers.length && isInteractive(run.context))
    await confirm(run.context, `Create up to ${newcomers.length} affiliates?`, options.yes)
  const brought = await importAll(run, newcomers, { failed, program: options.program })
  run.printRows(brought, COLUMNS)
  for (const { row, problem } of failed.slice(0, 5)) run.reporter.warn(`line ${row.line}: ${problem}`)
  if (failed.length) run.reporter.warn(`${failed.length} rows failed: see ${writeFailedRows(csv, file, failed)}`)
  return warnLeftOut(run, brought, failed)
}

/** Names everything that was not kept. 8 when there is any, or a row failed. */
function warnLeftOut(
  run: Run,
  rows: readonly Pick<ImportResult, 'email' | 'leftOut'>[],
  failed: readonly FailedRow[],
): ExitCode | undefined {
  const left = rows.flatMap(({ email, leftOut }) => leftOut.map((what) => `${email}: left out: ${what}`))
  for (const line of left) run.reporter.warn(line)
  return failed.length || left.length ? exitCode.partial : undefined
}

/** What a run would do and leave out. Reads the shop, and changes nothing. */
async function preview(
  run: Run,
  csv: Csv,
  { file, newcomers, failed }: { file: string; newcomers: readonly SourceAffiliate[]; failed: readonly FailedRow[] },
): Promise<ExitCode | undefined> {
  run.reporter.info('Dry run: nothing is changed.')
  for (const { row, problem } of failed) run.reporter.warn(`line ${row.line}: ${problem}`)
  if (failed.length) run.reporter.info(`The failed rows are in ${writeFailedRows(csv, file, failed)}`)
  const rows = previewImport(newcomers, await readExisting(await run.client()))
  run.printRows(rows, ['email', 'name', 'action', 'slug', 'ref', 'code', 'notes', 'leftOut'])
  return warnLeftOut(run, rows, failed)
}

async function importAll(
  run: Run,
  newcomers: readonly SourceAffiliate[],
  { failed, program }: { failed: FailedRow[]; program: string | undefined },
): Promise<ImportResult[]> {
  const stop = run.handleInterrupt()
  const progress = new Progress(run.reporter, newcomers.length)
  const pace = new RateLimiter({ signal: stop.signal, onWait: (seconds) => progress.wait(seconds) })
  const client = await createClient(run.apiKey, run.settings, {
    globalOptions: { ...run.globalOptions, wait: true },
    reporter: run.reporter,
  })
  const known = await readExisting(client)
  const brought: ImportResult[] = []
  for (const newcomer of newcomers) {
    if (stop.interrupted)
      throw new CliError(exitCode.interrupted, 'Interrupted; run it again for the rest.', { code: 'interrupted' })
    await pace.acquire()
    try {
      brought.push(await importAffiliate(client, newcomer, { known, program }))
    } catch (error) {
      failed.push({ row: newcomer.row, problem: rowProblem(error) })
    }
    pace.release(client.rateLimit)
    progress.step()
  }
  progress.end()
  return brought
}

async function readExisting(client: ReferralClient): Promise<ExistingAffiliates> {
  const known: ExistingAffiliates = new Map()
  for await (const affiliate of client.affiliates.list()) known.set(addressKey(affiliate.email), affiliate)
  return known
}

/** What is wrong with this affiliate; anything else ends the run. */
function rowProblem(error: unknown): string {
  const { status, message } = error as { status?: number; message: string }
  if (status === 400 || status === 409) return sanitizeText(message)
  throw error
}
