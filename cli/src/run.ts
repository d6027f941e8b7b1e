import type { ReferralClient } from '@referral/sdk'
import { createClient, requireCredential } from './client.ts'
import { exitCode } from './exit.ts'
import { type Column, type OutputStyle, renderRecord, renderRows } from './output/render.ts'
import { type GlobalOptions, resolveStyle } from './output/style.ts'
import { requireSettings, type Settings } from './settings.ts'
import { Reporter } from './talk.ts'
import type { CliContext } from './world.ts'

/** One run of one command: what it was asked, where its data and its talk go, and the way to the service. */
export class Run {
  readonly context: CliContext
  readonly globalOptions: GlobalOptions
  readonly reporter: Reporter
  readonly style: OutputStyle
  readonly dryRun: boolean
  #output = ''
  #settings: Settings | undefined

  constructor(context: CliContext, options: GlobalOptions & { dryRun?: boolean }) {
    this.context = context
    this.globalOptions = options
    this.reporter = new Reporter(context, options)
    this.style = resolveStyle(options, context)
    this.dryRun = options.dryRun ?? false
  }

  get settings(): Settings {
    this.#settings ??= requireSettings(this.context.env, this.globalOptions.profile)
    return this.#settings
  }

  get apiKey(): string {
    return requireCredential(this.settings, 'apiKey')
  }

  /** The SDK with the API key. */
  client(): Promise<ReferralClient> {
    return createClient(this.apiKey, this.settings, this)
  }

  /** The SDK with the owner's token, for the owner's surface. */
  ownerClient(): Promise<ReferralClient> {
    return createClient(requireCredential(this.settings, 'ownerToken'), this.settings, this)
  }

  /** Data is kept until the command is done, so that a failure leaves standard output empty. */
  printRows<T extends object>(rows: readonly T[], columns: readonly Column<T>[]): void {
    this.#output += renderRows(rows, columns, this.style)
  }

  printRecord(record: object): void {
    this.#output += renderRecord(record, this.style)
  }

  printText(text: string): void {
    this.#output += text
  }

  /** From now on Ctrl-C aborts this signal instead of ending the process; a second one ends it. */
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

  /** Prints what is kept: at the end of a command, or when its data is complete and it goes on. */
  flush(): Promise<void> {
    const output = this.#output
    this.#output = ''
    return new Promise((done, fail) => {
      if (output) this.context.stdout.write(output, (error) => (error ? fail(error) : done()))
      else done()
    })
  }

  /** What a write would send. */
  printDryRun(method: string, path: string, body?: object): undefined {
    this.reporter.info('Dry run: nothing was sent.')
    this.printRecord({ dryRun: true, method, path, body: body ? JSON.parse(JSON.stringify(body)) : null })
  }
}
