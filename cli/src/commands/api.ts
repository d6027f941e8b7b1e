import { readFileSync } from 'node:fs'
import type { ReferralClient } from '@referral/sdk'
import type { Command } from 'commander'
import { defineCommand } from '../command.ts'
import { apiError, usageError } from '../errors.ts'
import { repeatableOption } from '../options.ts'
import { sanitizeText, toJson } from '../output/text.ts'
import { confirmationError, readStdin } from '../prompt.ts'
import type { Run } from '../run.ts'

export function addApi(program: Command): void {
  defineCommand<ApiOptions>(program, 'api <method> <path>', {
    summary: 'make an authenticated API request',
    details:
      'Prints the response body. Paths under /admin/v1 use the owner token, all others the API key. A POST request gets an Idempotency-Key header unless you pass one. A request that pays a batch requires expectedTotalCents, like `payouts pay`.',
    output: 'Json',
    writes: true,
    examples: [
      'referral api GET /api/v1/affiliates?limit=5',
      "referral api POST /api/v1/affiliates -f email=noor@example.com -f name='Noor Haddad'",
      'referral api POST /api/v1/events --input order.json -H "Idempotency-Key: order-1001"',
    ],
    action: async (run, { options, args }) => callApi(run, args, options),
  })
    .addOption(repeatableOption('-f, --field <name=text>', 'add a string field to the body'))
    .addOption(repeatableOption('-F, --typed-field <name=json>', 'add a field with a JSON value to the body'))
    .option('--input <file>', 'file with the whole body; - for standard input')
    .addOption(repeatableOption('-H, --header <name: value>', 'add a request header'))
    .option('-i, --include', 'print the status and headers of the response first')
}

export interface ApiOptions {
  field?: string[]
  typedField?: string[]
  input?: string
  header?: string[]
  include?: boolean
}

const METHODS = ['GET', 'POST', 'PATCH', 'DELETE'] as const
type Method = (typeof METHODS)[number]
/** The SDK's raw methods, for a path that is only known at run time. */
type UntypedMethod = (
  path: string,
  init: object,
) => Promise<{ data?: unknown; error?: { error: string }; response: Response }>

/** Sends one request with any method, path and body. */
export async function callApi(run: Run, [verb = '', target = '']: string[], options: ApiOptions): Promise<undefined> {
  const method = verb.toUpperCase() as Method
  if (!METHODS.includes(method)) throw usageError(`Unknown method ${verb}. Use ${METHODS.join(', ')}.`)
  const { path, query } = parseTarget(target)
  requirePaymentTotal(method, path, query)
  const body = await readBody(run, options)
  if (run.dryRun && method !== 'GET') return run.printDryRun(method, target, body as object | undefined)
  const client = path.startsWith('/admin/') ? await run.ownerClient() : await run.client()
  const call = client[method as keyof Pick<ReferralClient, Method>] as unknown as UntypedMethod
  const headers = parseHeaders(options.header ?? [])
  if (method === 'POST') headers['idempotency-key'] ??= crypto.randomUUID()
  const { data, error, response } = await call(path, { params: { query }, body, headers })
  if (error) throw apiError(error.error, response)
  if (options.include) run.printText(formatHead(response))
  run.printText(typeof data === 'string' ? data : `${toJson(data, run.style.isTerminal ? 2 : undefined)}\n`)
}

function parseTarget(target: string): { path: string; query: Record<string, string> } {
  // A full URL would send the key to another host.
  if (!target.startsWith('/') || target.startsWith('//'))
    throw usageError('The path must start with a single slash, such as /api/v1/affiliates.')
  const url = new URL(target, 'http://service')
  return { path: url.pathname, query: Object.fromEntries(url.searchParams) }
}

/** Requires a confirmed total for the request that pays a batch. */
function requirePaymentTotal(method: Method, path: string, query: Record<string, string>): void {
  // The path may be percent-encoded, so that any encoded PATCH counts.
  const pays = method === 'PATCH' && /payouts|%/i.test(path)
  if (pays && !query.expectedTotalCents)
    throw confirmationError(
      'Paying a batch requires expectedTotalCents.',
      'Add &expectedTotalCents=… to the path, or use `referral payouts pay`.',
    )
}

async function readBody(run: Run, { field = [], typedField = [], input }: ApiOptions): Promise<unknown> {
  if (input !== undefined) {
    if (field.length || typedField.length) throw usageError('Pass --input or fields, not both.')
    return parse(input === '-' ? (await readStdin(run.context)).toString('utf8') : readFile(input), input)
  }
  if (field.length + typedField.length === 0) return undefined
  const split = (text: string): [string, string] => {
    const at = text.indexOf('=')
    if (at < 1) throw usageError(`A field must be name=value, not ${text}.`)
    return [text.slice(0, at), text.slice(at + 1)]
  }
  return Object.fromEntries([
    ...field.map(split),
    ...typedField.map(split).map(([name, value]) => [name, parse(value, name)]),
  ])
}

function parse(text: string, what: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw usageError(`${what} is not valid JSON.`)
  }
}

function readFile(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw usageError(`Cannot read ${file}: ${(cause as NodeJS.ErrnoException).code}.`)
  }
}

function parseHeaders(lines: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const [, name = '', value = ''] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*(.*)$/.exec(line) ?? []
    if (!name) throw usageError(`A header must be "Name: value", not ${line}.`)
    if (name.toLowerCase() === 'authorization')
      throw usageError('Secrets are not accepted on the command line. Run `referral login` instead.')
    headers[name.toLowerCase()] = value
  }
  return headers
}

const formatHead = (response: Response): string =>
  `HTTP ${response.status} ${response.statusText}\n${[...response.headers].map(([name, value]) => `${name}: ${sanitizeText(value)}\n`).join('')}\n`
