import type { ReferralClient } from '@referral/sdk'
import { createClient, requireCredential } from './client.ts'
import type { CliContext } from './context.ts'
import { exitCode, unwrap } from './errors.ts'
import { type Column, type OutputStyle, renderRecord, renderRows } from './output/render.ts'
import { type GlobalOptions, resolveStyle } from './output/style.ts'
import { Reporter } from './reporter.ts'
import { requireSettings, type Settings } from './settings.ts'

/** The units for displaying days and flat rates. */
interface ShopUnits {
  timeZone: string
  currency: string
}

/** One run of a command: its global options, its output, and the clients for the service. */
export class Run {
  readonly context: CliContext
  readonly globalOptions: GlobalOptions
  readonly reporter: Reporter
  readonly style: OutputStyle
  readonly dryRun: boolean
  /** Whether requests can take minutes. Repeating a request too early makes the service do the same work twice. */
  readonly isLong: boolean
  #output = ''
  #settings: Settings | undefined
  #shopUnits: Promise<ShopUnits> | undefined

  constructor(context: CliContext, options: GlobalOptions & { dryRun?: boolean }, isLong = false) {
    this.context = context
    this.globalOptions = options
    this.reporter = new Reporter(context, options)
    this.style = resolveStyle(options, context)
    this.dryRun = options.dryRun ?? false
    this.isLong = isLong
  }

  get settings(): Settings {
    this.#settings ??= requireSettings(this.context.env, this.globalOptions.profile)
    return this.#settings
  }

  get apiKey(): string {
    return requireCredential(this.settings, 'apiKey')
  }

  /** A client with the API key. */
  client(): Promise<ReferralClient> {
    return createClient(this.apiKey, this.settings, this)
  }

  /** A client with the owner token, for paths under /admin/v1. */
  ownerClient(): Promise<ReferralClient> {
    return createClient(requireCredential(this.settings, 'ownerToken'), this.settings, this)
  }

  /** The shop's time zone. */
  async timeZone(): Promise<string> {
    return (await this.#shop()).timeZone
  }

  /** A table's units. Other formats print instants and cents and do not need the shop. */
  async tableUnits(): Promise<ShopUnits> {
    return this.style.format === 'table' ? this.#shop() : { timeZone: '', currency: '' }
  }

  #shop(): Promise<ShopUnits> {
    this.#shopUnits ??= this.#readShop()
    return this.#shopUnits
  }

  async #readShop(): Promise<ShopUnits> {
    if (this.settings.apiKey) return (await this.client()).shop.get()
    return unwrap(await (await this.ownerClient()).GET('/admin/v1/session')).data.shop
  }

  /** Buffers rows until the command ends, so that a failure leaves standard output empty. */
  printRows<T extends object>(rows: readonly T[], columns: readonly Column<T>[]): void {
    if (rows.length === 0 && this.style.format !== 'json') this.reporter.info('no rows')
    this.#output += renderRows(rows, columns, this.style)
  }

  printRecord(record: object): void {
    this.#output += renderRecord(record, this.style)
  }

  printText(text: string): void {
    this.#output += text
  }

  /** Makes the next Ctrl-C abort the returned signal instead of ending the process. A second one ends it. */
  handleInterrupt(): { signal: AbortSignal; abort: () => void; readonly interrupted: boolean } {
    const stop = new AbortController()
    let interrupted = false
    process.removeAllListeners('SIGINT')
    process.once('SIGINT', () => {
      interrupted = true
      stop.abort()
      process.on('SIGINT', () => process.exit(exitCode.interrupted))
    })
    return {
      signal: stop.signal,
      abort: () => stop.abort(),
      get interrupted() {
        return interrupted
      },
    }
  }

  /** Writes the buffered output: at the end of a command, or earlier in one that keeps running. */
  flush(): Promise<void> {
    const output = this.#output
    this.#output = ''
    return new Promise((resolve, reject) => {
      if (output) this.context.stdout.write(output, (error) => (error ? reject(error) : resolve()))
      else resolve()
    })
  }

  /** Prints the request that a write would send. */
  printDryRun(method: string, path: string, body?: object): undefined {
    this.reporter.info('Dry run: nothing was sent.')
    this.printRecord({ dryRun: true, method, path, body: body ? JSON.parse(JSON.stringify(body)) : null })
  }
}
