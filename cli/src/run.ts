import type { ReferralClient } from '@referral/sdk'
import { credentialOf, makeClient } from './client.ts'
import { exit } from './exit.ts'
import { type Column, renderRecord, renderRows, type Style } from './output/render.ts'
import { type Globals, styleFor } from './output/style.ts'
import { requireSettings, type Settings } from './settings.ts'
import { Talk } from './talk.ts'
import type { World } from './world.ts'

/** One run of one command: what it was asked, where its data and its talk go, and the way to the service. */
export class Run {
  readonly world: World
  readonly globals: Globals
  readonly talk: Talk
  readonly style: Style
  readonly dryRun: boolean
  #output = ''
  #settings: Settings | undefined

  constructor(world: World, options: Globals & { dryRun?: boolean }) {
    this.world = world
    this.globals = options
    this.talk = new Talk(world, options)
    this.style = styleFor(options, world)
    this.dryRun = options.dryRun ?? false
  }

  get settings(): Settings {
    this.#settings ??= requireSettings(this.world.env, this.globals.profile)
    return this.#settings
  }

  get apiKey(): string {
    return credentialOf(this.settings, 'apiKey')
  }

  /** The SDK with the API key. */
  client(): Promise<ReferralClient> {
    return makeClient(this.apiKey, this.settings, this)
  }

  /** The SDK with the owner's token, for the owner's surface. */
  owner(): Promise<ReferralClient> {
    return makeClient(credentialOf(this.settings, 'ownerToken'), this.settings, this)
  }

  /** Data is kept until the command is done, so that a failure leaves standard output empty. */
  rows<T extends object>(rows: readonly T[], columns: readonly Column<T>[]): void {
    this.#output += renderRows(rows, columns, this.style)
  }

  record(record: object): void {
    this.#output += renderRecord(record, this.style)
  }

  text(text: string): void {
    this.#output += text
  }

  /** From now on Ctrl-C aborts this signal instead of ending the process; a second one ends it. */
  catchInterrupt(): { signal: AbortSignal; abort: () => void; readonly interrupted: boolean } {
    const stop = new AbortController()
    let interrupted = false
    process.removeAllListeners('SIGINT')
    process.once('SIGINT', () => {
      interrupted = true
      stop.abort()
      process.on('SIGINT', () => process.exit(exit.interrupted))
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
      if (output) this.world.stdout.write(output, (error) => (error ? fail(error) : done()))
      else done()
    })
  }

  /** What a write would send. */
  wouldSend(method: string, path: string, body?: object): undefined {
    this.talk.note('Dry run: nothing was sent.')
    this.record({ dryRun: true, method, path, body: body ? JSON.parse(JSON.stringify(body)) : null })
  }
}
