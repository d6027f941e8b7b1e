import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { createReferralClient, type ReferralClient } from '@referral/sdk'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { runCli } from '../../cli/src/cli.ts'
import type { CliContext } from '../../cli/src/context.ts'
import { createApiKey } from '../../server/src/domains/accounts/keys.ts'
import * as shops from '../../server/src/domains/accounts/shops.ts'
import { problems } from '../support/document.ts'
import { openDeps } from '../support/open-deps.ts'
import { COMPILE_CACHE, type RunningServer, startServer } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createShop } from '../support/tenants.ts'

export const MAIN = fileURLToPath(new URL('../../cli/src/main.ts', import.meta.url))
const SCHEMAS = JSON.parse(readFileSync(new URL('../../cli/schemas.json', import.meta.url), 'utf8'))

export type Env = Record<string, string>

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

export interface RunOptions {
  env?: Env
  /** Written to standard input, which is then closed. */
  input?: string | Buffer
  cwd?: string
}

/** An environment without the profiles, demo shop and variables of the machine. */
export const bare = (env: Env = {}): Env => ({
  PATH: process.env.PATH ?? '',
  HOME: '/nonexistent',
  REFERRAL_CONFIG_DIR: '/nonexistent',
  REFERRAL_DATA_DIR: '/nonexistent',
  NODE_NO_WARNINGS: '1',
  NODE_COMPILE_CACHE: COMPILE_CACHE,
  ...env,
})

/** Starts the CLI as a separate process, with pipes. */
export function start(args: readonly string[], { env, cwd }: RunOptions = {}): ChildProcess {
  return spawn(process.execPath, [MAIN, ...args], { env: bare(env), cwd, stdio: ['pipe', 'pipe', 'pipe'] })
}

/** Runs a command with pipes in this process, which takes a fraction of the time of a new one. */
export async function cli(args: readonly string[], { env, input = '' }: Omit<RunOptions, 'cwd'> = {}): Promise<Ended> {
  const [stdout, stderr] = [new Pipe(), new Pipe()]
  const context = { env: bare(env), stdin: Readable.from([Buffer.from(input)]), stdout, stderr, now: Date.now }
  const code = await runCli(context as unknown as CliContext, args)
  return { code, stdout: stdout.text(), stderr: stderr.text() }
}

/** Runs a command as a separate process and waits for its end. */
export async function cliProcess(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const child = start(args, options)
  child.stdin?.on('error', () => {})
  child.stdin?.end(options.input ?? '')
  return ended(child)
}

class Pipe extends Writable {
  readonly #chunks: Buffer[] = []

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#chunks.push(chunk)
    done()
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString()
  }
}

export function ended(child: ChildProcess): Promise<Ended> {
  let stdout = ''
  let stderr = ''
  child.stdout?.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  return new Promise((done) => child.once('close', (code) => done({ code, stdout, stderr })))
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

/** Why commands cannot run on a terminal here, or undefined. */
export const noTerminal: string | undefined = (() => {
  try {
    const help = execFileSync('script', ['--help'], { encoding: 'utf8' })
    return help.includes('--return') ? undefined : 'the script command is not from util-linux'
  } catch {
    return 'the script command is not installed'
  }
})()
if (noTerminal) console.warn(`skipped: tests on a terminal, because ${noTerminal}`)

export interface TerminalOptions extends RunOptions {
  /** Input that is typed when a text appears, in this order. */
  answers?: [when: RegExp, type: string][]
  /** Called when the terminal process has started. */
  onStart?: (child: ChildProcess) => void
}

/** Runs a command on a pseudo-terminal, which merges standard output and standard error. */
export async function onTerminal(
  args: readonly string[],
  options: TerminalOptions = {},
): Promise<{ code: number | null; output: string }> {
  const command = [process.execPath, MAIN, ...args].map(quoted).join(' ')
  const env = bare({ TERM: 'xterm', ...options.env })
  const child = spawn('script', ['-qefc', command, '/dev/null'], {
    env,
    cwd: options.cwd,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  options.onStart?.(child)
  const waiting = [...(options.answers ?? [])]
  let output = ''
  let seen = 0
  child.stdout.on('data', (chunk) => {
    output += chunk
    const [next] = waiting
    if (!next?.[0].test(output.slice(seen))) return
    waiting.shift()
    seen = output.length
    // Waits until the prompt reads input.
    setTimeout(() => child.stdin.write(next[1]), 50)
  })
  const code = await new Promise<number | null>((done) => child.once('close', done))
  return { code, output }
}

const ajv = new Ajv2020({ strict: false })
ajv.addSchema(SCHEMAS, 'cli')

/** Validates JSON output against a declared schema, and returns the problems. */
export function wrongWith(output: string, value: unknown): string[] {
  const name = output.replace('[]', '')
  if (output.endsWith('[]')) {
    if (!Array.isArray(value)) return ['not a list']
    return value.flatMap((item, i) => wrongWith(name, item).map((problem) => `${i}: ${problem}`))
  }
  if (!Object.hasOwn(SCHEMAS.$defs, name)) return problems(`/components/schemas/${name}`, value)
  const validate = ajv.getSchema(`cli#/$defs/${name}`)
  return validate?.(value) ? [] : (validate?.errors ?? []).map((error) => `${error.instancePath} ${error.message}`)
}

export interface Shop {
  server: RunningServer
  /** The credentials of a shop with a high rate limit. */
  env: Env
  /** A client for the same shop, for setup and assertions. */
  client: ReferralClient
  /** Reports an order of 100.00 and returns the id of its commission. */
  order: (id: string, at?: string, coupon?: string) => Promise<string>
  dataDir: string
  newShop: (plan: shops.Plan) => Promise<{ shopId: string; ownerToken: string }>
  newKey: (scopes: string[], shopId?: string) => Promise<string>
  close: () => Promise<void>
}

/** Starts a server process with one shop. */
export async function openShop(): Promise<Shop> {
  const folder = temporaryFolder()
  const settings = { REFERRAL_DATA_DIR: folder.path, LOG_LEVEL: 'info' }
  const server = await startServer(settings)
  const { deps, close } = await openDeps(settings)
  const newShop = (plan: shops.Plan) =>
    createShop(deps, { name: 'Hats', plan, currency: 'USD', ownerEmail: 'owner@localhost' })
  // A plan with a high rate limit.
  const { shopId, ownerToken } = await newShop('ENTERPRISE')
  const newKey = async (scopes: string[], shop = shopId) =>
    (await createApiKey(await shops.operatorContext(deps, shop), { label: 'CLI', scopes })).secret
  const apiKey = await newKey(['all'])
  const client = createReferralClient({ apiKey, baseUrl: server.url })
  return {
    server,
    client,
    order: async (externalOrderId, occurredAt, couponCode = 'NISA16') => {
      const { commission } = await client.events.conversion({
        externalOrderId,
        amountCents: 10_000,
        couponCode,
        ...(occurredAt ? { occurredAt } : {}),
      })
      return commission.id ?? ''
    },
    dataDir: folder.path,
    newShop,
    newKey,
    env: {
      REFERRAL_BASE_URL: server.url,
      REFERRAL_API_KEY: apiKey,
      REFERRAL_OWNER_TOKEN: ownerToken,
      REFERRAL_SHOP_ID: shopId,
    },
    close: async () => {
      await close()
      await server.stop('SIGKILL')
      folder.remove()
    },
  }
}

/** Runs a command that must succeed and returns its JSON. */
export async function json<T = never>(args: readonly string[], options: RunOptions = {}): Promise<T> {
  const { code, stdout, stderr } = await cli([...args, '--json'], options)
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`)
  return JSON.parse(stdout)
}

/** Creates a program that approves orders, with an approved affiliate that has a code. */
export async function withAffiliate(
  { client }: Pick<Shop, 'client'>,
  { code = 'NISA16', name = 'Nisa Karim', email = 'nisa@example.com' } = {},
) {
  const program = await client.programs.create({
    name: 'Friends',
    commissionPercent: 16,
    autoApproveOrder: true,
    status: 'PUBLISH',
  })
  const { id } = await client.affiliates.create({ email, name, campaignId: program.id })
  await client.coupons.assign({ affiliateId: id, code })
  const affiliate = await client.affiliates.update(id, { status: 'APPROVED' })
  return { program, affiliate }
}
