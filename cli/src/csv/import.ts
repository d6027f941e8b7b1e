// The three steps of an import: plan a file's rows, send what no earlier run has sent, and report.
import { basename } from 'node:path'
import type { ReferralClient, ReferralError } from '@referral/sdk'
import { createClient } from '../client.ts'
import { isInteractive } from '../context.ts'
import { CliError, type ExitCode, exitCode } from '../errors.ts'
import { renderRows } from '../output/render.ts'
import { counted } from '../output/text.ts'
import { Progress } from '../progress.ts'
import { confirm, readStdin } from '../prompt.ts'
import { RateLimiter } from '../rate-limiter.ts'
import type { Run } from '../run.ts'
import { type FailedRow, writeFailedRows } from './failed-rows.ts'
import { ImportJournal } from './journal.ts'
import { type Csv, type CsvRow, decodeUtf8, parseCsv, readCsv } from './parse.ts'

/** Reads a CSV file, or standard input for `-`. */
export const readImportFile = async (run: Run, file: string): Promise<Csv> =>
  file === '-' ? parseCsv(decodeUtf8(await readStdin(run.context), 'standard input'), 'standard input') : readCsv(file)

/** How a field is read. */
export interface MappedColumn {
  field: string
  column: string
  format: string
  /** Its value in the first row. */
  first: string
}

/** Shows each field's column, so that the user notices a wrong one before anything is sent. */
export function printColumns(run: Run, columns: readonly MappedColumn[]): void {
  if (run.globalOptions.quiet) return
  const style = { ...run.style, format: 'table' as const, fields: undefined, palette: run.reporter.palette }
  run.reporter.write(
    renderRows(
      [...columns].map((column) => ({ ...column })),
      ['field', 'column', 'format', 'first'],
      style,
    ),
  )
}

/** Writes the failed rows next to the file and names the first of them. @returns the file's name */
export function reportFailedRows(run: Run, csv: Csv, file: string, failed: readonly FailedRow[]): string | null {
  const failedFile = failed.length ? writeFailedRows(csv, file, failed) : null
  const shown = run.dryRun ? failed : failed.slice(0, 5)
  for (const { row, problem } of shown) run.reporter.warn(`line ${row.line}: ${problem}`)
  if (failed.length > shown.length) run.reporter.warn(`and ${failed.length - shown.length} more`)
  if (failedFile && basename(failedFile) !== 'failed.csv')
    run.reporter.info(`failed.csv contains other rows and was kept; the failed rows are in ${failedFile}`)
  return failedFile
}

/** The data shared by one import's reports. */
export interface Connection {
  client: ReferralClient
  limiter: RateLimiter
  signal: AbortSignal
}

/** The import's items and how to send them. */
export interface Sending<Item> {
  /** `order` */
  noun: string
  /** The plan's items. */
  items: readonly Item[]
  /** The rows that cannot be imported. Rows that the service rejects are added. */
  failed: FailedRow[]
  /**
   * Identifies an item by its content, so that another run sends only the rest. If omitted, every run sends all items.
   */
  hashOf?: (item: Item) => string
  /** Sends an item, or evaluates it in a dry run. @returns why it was rejected */
  send: (item: Item, connection: Connection) => Promise<string | undefined>
  /** Describes what was sent so far, for an import that ends early. */
  summarize: () => string
  /** Items that a dry run evaluates. */
  sample: (items: readonly Item[]) => readonly Item[]
  /** How many items are sent at once. With 1, they are sent in the file's order. */
  parallel: number
  yes?: boolean | undefined
}

/** Sends items that no earlier run has sent, or evaluates a sample of them in a dry run. @returns how many are new */
export async function sendNew<Item extends { row: CsvRow }>(
  run: Run,
  file: string,
  { noun, items, failed, hashOf, send, summarize, sample, parallel, yes }: Sending<Item>,
): Promise<number> {
  const journal = hashOf && new ImportJournal(file, { baseUrl: run.settings.baseUrl, apiKey: run.apiKey })
  const pending = journal && hashOf ? journal.selectNew(items, hashOf, run.reporter) : items
  const selected = run.dryRun ? sample(pending) : pending
  if (selected.length === 0) return pending.length
  if (!run.dryRun) {
    // Without a terminal, no confirmation is needed, because ambiguous files are rejected.
    if (isInteractive(run.context)) await confirm(run.context, `Import ${counted(pending.length, noun)}?`, yes)
    journal?.ensureWritable()
  }
  const sendOne = async (item: Item, connection: Connection) => {
    const problem = await send(item, connection)
    if (problem !== undefined) failed.push({ row: item.row, problem })
    else if (!run.dryRun && hashOf) journal?.add(hashOf(item))
  }
  await sendInParallel(run, selected, { parallel, send: sendOne, summarize })
  return pending.length
}

/** An import that takes longer shows a hint, because it uses up its key's rate limit. */
const LONG_MINUTES = 5

interface SendOptions<T> {
  parallel: number
  send: (item: T, connection: Connection) => Promise<void>
  /** Describes what was sent so far, for an import that ends early. */
  summarize: () => string
}

/** A client that waits for the rate limit. */
export const waitingClient = (run: Run, credential: string): Promise<ReferralClient> =>
  createClient(credential, run.settings, {
    globalOptions: { ...run.globalOptions, wait: true },
    reporter: run.reporter,
  })

/** Sends items within the rate limit and shows the progress. A service error ends it. */
async function sendInParallel<T>(
  run: Run,
  items: readonly T[],
  { parallel, send, summarize }: SendOptions<T>,
): Promise<void> {
  const client = await waitingClient(run, run.apiKey)
  const stop = run.handleInterrupt()
  const progress = new Progress(run.reporter, items.length)
  const limiter = new RateLimiter({ signal: stop.signal, onWait: (seconds) => progress.wait(seconds) })
  const queue = items.values()
  let isHinted = false
  const sendFromQueue = async () => {
    for (const item of queue) {
      await send(item, { client, limiter, signal: stop.signal })
      const minutes = items.length / (limiter.limit ?? Number.POSITIVE_INFINITY)
      if (!isHinted && minutes > LONG_MINUTES) {
        isHinted = true
        run.reporter.info(
          `The limit of ${limiter.limit} requests per minute makes this take about ${Math.ceil(minutes)} minutes, in which other requests with this key get 429. Import with a key of its own, or let the operator raise the limit: referral-server shop set <shopId> --requests-per-minute <n>`,
        )
      }
      progress.step(limiter.limit)
    }
  }
  try {
    await Promise.all(Array.from({ length: parallel }, sendFromQueue))
    progress.end()
  } catch (error) {
    stop.abort()
    progress.end()
    run.reporter.info(`${summarize()} Run the same command again for the rest.`)
    if (stop.interrupted) throw new CliError(exitCode.interrupted, 'Interrupted.', { code: 'interrupted' })
    throw error
  }
}

/** Returns the problem of a rejected row. Rethrows errors that would affect every row, which ends the import. */
export function rowProblem(error: ReferralError): string {
  const { status } = error as { status?: number }
  if (status === 400 || status === 404 || status === 409 || error.code === 'internal_error') return error.message
  throw error
}

interface ImportOutcome {
  file: string
  failed: readonly FailedRow[]
  counts: object
  /** The dry run's result. Null without a dry run. */
  forecast: object | null
  /** The message if nothing was sent. */
  nothingNew: string | undefined
}

/** Writes the failed rows and prints the outcome. @returns 8 if a row failed */
export function reportImport(
  run: Run,
  csv: Csv,
  { file, failed, counts, forecast, nothingNew }: ImportOutcome,
): ExitCode | undefined {
  const failedFile = reportFailedRows(run, csv, file, failed)
  const notice = run.dryRun ? 'Dry run: nothing was sent.' : nothingNew
  if (notice) run.reporter.info(notice)
  const rows = csv.rows.length
  run.printRecord({ file, rows, ...counts, failed: failed.length, failedFile, forecast, dryRun: run.dryRun })
  return failed.length ? exitCode.partial : undefined
}
