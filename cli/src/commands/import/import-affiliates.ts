import type { ReferralClient, ReferralError } from '@referral/sdk'
import type { FailedRow } from '../../csv/failed-rows.ts'
import { reportFailedRows, rowProblem, sendNew, waitingClient } from '../../csv/import.ts'
import { type Csv, readCsv } from '../../csv/parse.ts'
import { CliError, type ExitCode, exitCode } from '../../errors.ts'
import { counted } from '../../output/text.ts'
import { rateLimitedClient } from '../../rate-limiter.ts'
import type { Run } from '../../run.ts'
import { type ExistingShop, type ImportResult, importAffiliate, previewImport } from './import-affiliate.ts'
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

/**
 * Creates affiliates from another service's export. Existing affiliates only get codes, links, and payment details they
 * lack.
 */
export async function importAffiliates(
  run: Run,
  [name = '', , file = '']: string[],
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
  const owner = run.settings.ownerToken === undefined ? undefined : await waitingClient(run, run.settings.ownerToken)
  const results: ImportResult[] = []
  let existing: ExistingShop | undefined
  await sendNew(run, file, {
    noun: 'affiliate',
    items: affiliates,
    failed,
    send: async (source, { client, limiter }) => {
      existing ??= await readExisting(client)
      const shop = { existing, program: options.program }
      const { rateLimited } = rateLimitedClient(client, limiter)
      try {
        results.push(await rateLimited(() => importAffiliate({ client, owner }, source, shop)))
        return undefined
      } catch (error) {
        // A program that does not exist would fail every row.
        if ((error as { status?: number }).status === 404) throw error
        return rowProblem(error as ReferralError)
      }
    },
    summarize: () => `${counted(results.length, 'affiliate')} imported.`,
    sample: () => [],
    parallel: 1,
    yes: options.yes,
  })
  run.printRows(results, COLUMNS)
  const failedFile = reportFailedRows(run, csv, file, failed)
  if (failedFile) run.reporter.warn(`${counted(failed.length, 'failed row')} written to ${failedFile}`)
  return reportLeftOut(run, results, failed)
}

/** Orders of affiliates without a program earn nothing. */
async function requireDefaultProgram(run: Run): Promise<void> {
  const client = await run.client()
  // The first page returns the error for a key without the scope.
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

/** Warns about everything that is not imported. Returns 8 if there is anything, or if a row failed. */
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
  const failedFile = reportFailedRows(run, csv, file, failed)
  if (failedFile) run.reporter.info(`The failed rows are in ${failedFile}`)
  const hasOwnerToken = run.settings.ownerToken !== undefined
  const results = previewImport(affiliates, await readExisting(await run.client()), hasOwnerToken)
  run.printRows(results, PREVIEW_COLUMNS)
  return reportLeftOut(run, results, failed)
}

export async function readExisting(client: ReferralClient): Promise<ExistingShop> {
  const affiliates: ExistingShop['affiliates'] = new Map()
  for await (const affiliate of client.affiliates.list({ limit: 100 }))
    affiliates.set(emailKey(affiliate.email), affiliate)
  const aliases = await client.aliases.list({ limit: 100 }).toArray()
  return { affiliates, aliases: Map.groupBy(aliases, ({ affiliateId }) => affiliateId) }
}
