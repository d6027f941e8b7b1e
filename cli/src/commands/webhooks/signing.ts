import { readFileSync } from 'node:fs'
import { generateSecret } from '@referral/sdk'
import { receive, verify, WebhookError } from '@referral/webhook-verifier'
import { signedDelivery, signWebhook } from '@referral/webhook-verifier/testing'
import { CliError, exitCode, notFoundError, usageError } from '../../errors.ts'
import { readStdin } from '../../prompt.ts'
import type { Run } from '../../run.ts'
import { readSecret, requireSecret, type SecretOptions } from '../../secrets.ts'
import { examples } from './examples.ts'
import { parseReceiverUrl, postDelivery } from './post.ts'

/** Signs one of the contract's example events and sends it to a receiver. */
export async function trigger(run: Run, event: string, options: SecretOptions & { to: string }): Promise<undefined> {
  const example = Object.hasOwn(examples, event) ? examples[event] : undefined
  if (!example) throw usageError(`Unknown event ${event}.`, `Events: ${Object.keys(examples).join(', ')}.`)
  const url = parseReceiverUrl(options.to)
  const secretInput = await readSecret(run.context, options)
  const secret = secretInput ?? generateSecret()
  if (secretInput === undefined)
    run.reporter.info(`signed with ${secret}, generated for this run; set REFERRAL_WEBHOOK_SECRET to use your own`)
  const draft = { ...example, timestamp: new Date(run.context.now()).toISOString() }
  const { body, headers } = await signedDelivery(draft, { secret })
  if (run.dryRun) return run.printDryRun('POST', url, JSON.parse(new TextDecoder().decode(body)))
  const { status, ms, reason } = await postDelivery(url, { body, headers })
  if (status === undefined)
    throw new CliError(
      exitCode.unavailable,
      `No response from ${url}${reason ? ` (${reason})` : ''}. Check that the receiver is running.`,
      {
        code: 'receiver_unreachable',
      },
    )
  if (status < 200 || status > 299)
    throw new CliError(exitCode.unexpected, `The receiver returned ${status}${reason ? `: ${reason}` : '.'}`, {
      status,
      code: 'receiver_refused',
    })
  run.printRecord({ event, url, status, ms, id: headers['webhook-id'] })
}

async function readBody(run: Run, file: string | undefined, { secretStdin }: SecretOptions): Promise<Buffer> {
  const fromStdin = file === undefined || file === '-'
  if (fromStdin && secretStdin)
    throw usageError('Standard input cannot contain both the body and the secret. Pass one of them as a file.')
  if (fromStdin && run.context.stdin.isTTY)
    throw usageError('A body is required. Pass a file, or pipe it to standard input.')
  if (fromStdin) return readStdin(run.context)
  try {
    return readFileSync(file)
  } catch (cause) {
    throw notFoundError(`Cannot read ${file}: ${(cause as NodeJS.ErrnoException).code}.`)
  }
}

export interface SignOptions extends SecretOptions {
  id?: string
  timestamp?: string
}

/** Prints the headers that the service would send with this body. */
export async function sign(run: Run, file: string | undefined, options: SignOptions): Promise<undefined> {
  const body = await readBody(run, file, options)
  const secret = await requireSecret(run.context, options)
  const id = options.id ?? `evt_${crypto.randomUUID()}`
  const timestamp = Number(options.timestamp ?? Math.floor(run.context.now() / 1000))
  const headers = await signWebhook(body, secret, { id, timestamp }).catch((error: Error) => {
    throw usageError(error.message)
  })
  run.printRecord(headers)
}

export interface VerifyOptions extends SecretOptions {
  signature?: string
  header?: string[]
  tolerance?: string
}

/** Verifies a body's signature. @throws {CliError} with the verifier's code if it is invalid */
export async function verifyBody(run: Run, file: string | undefined, options: VerifyOptions): Promise<undefined> {
  const { signature, header = [] } = options
  if (signature === undefined && header.length === 0)
    throw usageError('A signature is required. Pass --signature, or --header for each header.')
  const tolerance = options.tolerance === undefined ? undefined : Number(options.tolerance)
  if (Number.isNaN(tolerance)) throw usageError('--tolerance must be a number of seconds.')
  const body = await readBody(run, file, options)
  const secret = await requireSecret(run.context, options)
  try {
    const verification = signature !== undefined ? await verify(body, signature, secret) : undefined
    const received = verification ?? (await receive({ headers: toHeaders(header), body }, { secret, tolerance }))
    const event = 'event' in received ? received.event.event : null
    run.printRecord({
      valid: true,
      event,
      dedupeKey: 'verification' in received ? received.verification.dedupeKey : received.dedupeKey,
    })
  } catch (error) {
    if (!(error instanceof WebhookError)) throw error
    throw new CliError(
      exitCode.unexpected,
      `Invalid signature: ${error.code.replaceAll('_', ' ')}. ${error.message.replace(/^\w+: /, '')}`,
      { code: error.code },
    )
  }
}

const toHeaders = (lines: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(':')
      if (at < 1) throw usageError(`A header must be "name: value", not ${line}.`)
      return [line.slice(0, at).trim().toLowerCase(), line.slice(at + 1).trim()]
    }),
  )
