import { createHmac } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { CliError, type ExitCode, exitCode, notFoundError, usageError } from '../../errors.ts'
import type { Run } from '../../run.ts'
import { requireSecret, type SecretOptions } from '../../secrets.ts'

/** How the service handled a file's events. */
interface StripeReplay {
  recorded: number
  ignored: number
  failed: number
}

const MAX_TRIES = 5

/** Sends a file's events in order. Stops at the first signature that the service rejects. */
export async function replay(run: Run, file: string, options: SecretOptions): Promise<ExitCode | undefined> {
  if (!existsSync(file)) throw notFoundError(`Cannot read ${file}: no such file.`)
  const [secret = ''] = run.dryRun ? [] : (await requireSecret(run.context, options)).split(/\s+/)
  const { id } = await (await run.client()).shop.get()
  const path = `/integrations/stripe/${id}`
  const counts: StripeReplay = { recorded: 0, ignored: 0, failed: 0 }
  let line = 0
  for await (const text of createInterface({ input: createReadStream(file, 'utf8'), crlfDelay: Infinity })) {
    line++
    if (!text.trim()) continue
    requireEvent(text, line)
    if (run.dryRun) counts.recorded++
    else counts[await send(run, { url: run.settings.baseUrl + path, secret, text, line })]++
  }
  if (run.dryRun) return run.printDryRun('POST', path, { events: counts.recorded })
  run.printRecord(counts)
  return counts.failed > 0 ? exitCode.partial : undefined
}

function requireEvent(text: string, line: number): void {
  try {
    if (JSON.parse(text).object === 'event') return
  } catch {
    // The line is reported below.
  }
  throw usageError(
    `Line ${line} is not a Stripe event.`,
    'Each line must be one event of Stripe’s event API as JSON, with "object": "event".',
  )
}

interface Sending {
  url: string
  secret: string
  text: string
  line: number
}

async function send(run: Run, { url, secret, text, line }: Sending): Promise<keyof StripeReplay> {
  for (let tries = 1; ; tries++) {
    const time = Math.floor(run.context.now() / 1000)
    const signature = createHmac('sha256', secret).update(`${time}.${text}`).digest('hex')
    const headers = { 'content-type': 'application/json', 'stripe-signature': `t=${time},v1=${signature}` }
    const response = await fetch(url, { method: 'POST', body: text, headers })
    const body = (await response.json()) as { message?: string; error?: string }
    if (response.ok) return body.message === 'Ignored.' ? 'ignored' : 'recorded'
    const code = response.headers.get('X-Error-Code') ?? undefined
    if (code === 'stripe_signature_invalid')
      throw new CliError(exitCode.auth, body.error ?? 'The signature was rejected.', {
        status: response.status,
        code,
      })
    const wait = Number(response.headers.get('Retry-After') ?? 1)
    if ((response.status !== 429 && response.status < 500) || tries === MAX_TRIES) {
      run.reporter.warn(`line ${line}: ${body.error ?? response.status}`)
      return 'failed'
    }
    await sleep(wait * 1000)
  }
}
