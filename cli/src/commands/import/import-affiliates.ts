import type { ReferralClient } from '@referral/sdk'
import { createClient } from '../../client.ts'
import { isInteractive } from '../../context.ts'
import { type FailedRow, writeFailedRows } from '../../csv/failed-rows.ts'
import { type Csv, readCsv } from '../../csv/parse.ts'
import { CliError, type ExitCode, exitCode } from '../../errors.ts'
import { counted, sanitizeText } from '../../output/text.ts'
import { Progress } from '../../progress.ts'
import { confirm } from '../../prompt.ts'
import { RateLimiter } from '../../rate-limiter.ts'
import type { Run } from '../../run.ts'
import {
  type ExistingShop,
  type ImportClients,
  type ImportResult,
  importAffiliate,
  previewImport,
} from './import-affiliate.ts'
import { emailKey, planImport, type SourceAffiliate } from './plan.ts'
import { providers } from './providers.ts'

export interface ImportOptions {
  map?: string[]
  program?: string
  yes?: boolean
}

const COLUMNS = ['email', 'id', 'action', 'slug', 'ref', 'code', 'aliases', 'payee', 'notes', 'leftOut'] as const
const PREVIEW_COLUMNS = [
  'email',
  'name',
  'action',
  'slug',
  'ref',
  'code',
  'aliases',
  'payee',
  'notes',
  'leftOut',
] as const

/** Creates the affiliates of another service's export. Existing affiliates only get codes, links and payment details they lack. */
export async function importAffiliates(
  run: Run,
  [name = '', file = '']: string[],
  options: ImportOptions,
): Promise<ExitCode | undefined> {
  const provider = providers[name]
  if (!provider) throw new Error(`unknown provider ${name}`)
  const csv = readCsv(file)
  const { mapping, affiliates, failed, unusedColumns } = planImport(csv, provider, options.map)
  run.reporter.info(
    `${provider.title}: ${Object.entries(mapping)
      .map(([field, column]) => `${field} from ${column}`)
      .join(', ')}`,
  )
  if (unusedColumns.length > 0) run.reporter.warn(`Columns that are not imported: ${unusedColumns.join(', ')}.`)
  if (affiliates.length && options.program === undefined) await requireDefaultProgram(run)
  if (run.dryRun) return preview(run, csv, { file, affiliates, failed })
  if (affiliates.length && isInteractive(run.context))
    await confirm(run.context, `Create up to ${counted(affiliates.length, 'affiliate')}?`, options.yes)
  const results = await importAll(run, affiliates, { failed, program: options.program })
  run.printRows(results, COLUMNS)
  for (const { row, problem } of failed.slice(0, 5)) run.reporter.warn(`line ${row.line}: ${problem}`)
  if (failed.length)
    run.reporter.warn(`${counted(failed.length, 'failed row')} written to ${writeFailedRows(csv, file, failed)}`)
  return reportLeftOut(run, results, failed)
}

/** Orders of affiliates without a program earn nothing. */
async function requireDefaultProgram(run: Run): Promise<void> {
  const client = await run.client()
  // The first page contains the error of a key without the scope.
  const { error } = await client.programs.list({ limit: 1 }).safe()
  if (error?.code === 'scope_missing') {
    run.reporter.warn('This key cannot read programs. Without a default program, the affiliates would earn nothing.')
    return
  }
  const programs = await client.programs.list().toArray()
  if (programs.some(({ isDefault }) => isDefault)) return
  const message = programs.length
    ? 'This shop has no default program. Pass --program.'
    : 'This shop has no program. Create one first: referral programs create …, or pass --program.'
  throw new CliError(exitCode.conflict, message, { code: 'program_missing' })
}

/** Warns about everything that is not imported. Returns 8 when there is any, or when a row failed. */
function reportLeftOut(
  run: Run,
  results: readonly Pick<ImportResult, 'email' | 'leftOut'>[],
  failed: readonly FailedRow[],
): ExitCode | undefined {
  const warnings = results.flatMap(({ email, leftOut }) => leftOut.map((item) => `${email}: left out: ${item}`))
  for (const warning of warnings) run.reporter.warn(warning)
  return failed.length || warnings.length ? exitCode.partial : undefined
}

/** Reads the shop and prints what an import would do. */
async function preview(
  run: Run,
  csv: Csv,
  { file, affiliates, failed }: { file: string; affiliates: readonly SourceAffiliate[]; failed: readonly FailedRow[] },
): Promise<ExitCode | undefined> {
  run.reporter.info('Dry run: nothing was changed.')
  for (const { row, problem } of failed) run.reporter.warn(`line ${row.line}: ${problem}`)
  if (failed.length) run.reporter.info(`The failed rows are in ${writeFailedRows(csv, file, failed)}`)
  const hasOwnerToken = run.settings.ownerToken !== undefined
  const results = previewImport(affiliates, await readExisting(await run.client()), hasOwnerToken)
  run.printRows(results, PREVIEW_COLUMNS)
  return reportLeftOut(run, results, failed)
}

async function importAll(
  run: Run,
  affiliates: readonly SourceAffiliate[],
  { failed, program }: { failed: FailedRow[]; program: string | undefined },
): Promise<ImportResult[]> {
  const stop = run.handleInterrupt()
  const progress = new Progress(run.reporter, affiliates.length)
  const limiter = new RateLimiter({ signal: stop.signal, onWait: (seconds) => progress.wait(seconds) })
  const { client, owner } = await createClients(run)
  const existing = await readExisting(client)
  const results: ImportResult[] = []
  for (const source of affiliates) {
    if (stop.interrupted)
      throw new CliError(exitCode.interrupted, 'Interrupted. Run the same command again for the rest.', {
        code: 'interrupted',
      })
    await limiter.acquire()
    try {
      results.push(await importAffiliate({ client, owner }, source, { existing, program }))
    } catch (error) {
      failed.push({ row: source.row, problem: rowProblem(error) })
    }
    limiter.release(client.rateLimit)
    progress.step()
  }
  progress.end()
  return results
}

/** Clients that wait for the rate limit. */
async function createClients(run: Run): Promise<ImportClients> {
  const { apiKey, settings, reporter } = run
  const options = { globalOptions: { ...run.globalOptions, wait: true }, reporter }
  return {
    client: await createClient(apiKey, settings, options),
    owner: settings.ownerToken === undefined ? undefined : await createClient(settings.ownerToken, settings, options),
  }
}

async function readExisting(client: ReferralClient): Promise<ExistingShop> {
  const affiliates: ExistingShop['affiliates'] = new Map()
  for await (const affiliate of client.affiliates.list({ limit: 100 }))
    affiliates.set(emailKey(affiliate.email), affiliate)
  const aliases = await client.aliases.list({ limit: 100 }).toArray()
  return { affiliates, aliases: Map.groupBy(aliases, ({ affiliateId }) => affiliateId) }
}

/** Returns the problem of a rejected affiliate. Rethrows any other error, which ends the import. */
function rowProblem(error: unknown): string {
  const { status, message } = error as { status?: number; message: string }
  if (status === 400 || status === 409) return sanitizeText(message)
  throw error
}
