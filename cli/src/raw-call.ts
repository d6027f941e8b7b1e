import { readFileSync } from 'node:fs'
import type { ReferralClient } from '@referral/sdk'
import { confirmationError, readStdin } from './ask.ts'
import { usageError } from './exit.ts'
import { sanitizeText, toJson } from './output/text.ts'
import type { Run } from './run.ts'
import { apiError } from './unwrap.ts'

export interface ApiOptions {
  field?: string[]
  typedField?: string[]
  input?: string
  header?: string[]
  include?: boolean
}

const METHODS = ['GET', 'POST', 'PATCH', 'DELETE'] as const
type Method = (typeof METHODS)[number]
/** The raw methods of the SDK, for a path that the compiler does not know. */
type UntypedMethod = (
  path: string,
  init: object,
) => Promise<{ data?: unknown; error?: { error: string }; response: Response }>

/** One call, written by hand. */
export async function callApi(run: Run, [verb = '', target = '']: string[], options: ApiOptions): Promise<undefined> {
  const method = verb.toUpperCase() as Method
  if (!METHODS.includes(method)) throw usageError(`${verb} is no method; use ${METHODS.join(', ')}.`)
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
  // A whole address would send the key to wherever it points.
  if (!target.startsWith('/') || target.startsWith('//'))
    throw usageError('A path starts with /, like /api/v1/affiliates.')
  const url = new URL(target, 'http://service')
  return { path: url.pathname, query: Object.fromEntries(url.searchParams) }
}

/** The one call that moves money asks for its total here too. */
function requirePaymentTotal(method: Method, path: string, query: Record<string, string>): void {
  // Whatever spelling of the path a server may understand.
  const pays = method === 'PATCH' && /payouts|%/i.test(path)
  if (pays && !query.expectedTotalCents)
    throw confirmationError(
      'Paying needs the total: add &expectedTotalCents=… to the path.',
      'Or use `referral payouts pay`.',
    )
}

async function readBody(run: Run, { field = [], typedField = [], input }: ApiOptions): Promise<unknown> {
  if (input !== undefined) {
    if (field.length || typedField.length) throw usageError('Give --input or fields, not both.')
    return parse(input === '-' ? (await readStdin(run.context)).toString('utf8') : readFile(input), input)
  }
  if (field.length + typedField.length === 0) return undefined
  const split = (text: string): [string, string] => {
    const at = text.indexOf('=')
    if (at < 1) throw usageError(`A field is name=value, not ${text}.`)
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
    throw usageError(`${file} cannot be read: ${(cause as NodeJS.ErrnoException).code}.`)
  }
}

function parseHeaders(lines: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const [, name = '', value = ''] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*(.*)$/.exec(line) ?? []
    if (!name) throw usageError(`A header is "Name: value", not ${line}.`)
    if (name.toLowerCase() === 'authorization') throw usageError('A secret does not belong on the command line.')
    headers[name.toLowerCase()] = value
  }
  return headers
}

const formatHead = (response: Response): string =>
  `HTTP ${response.status} ${response.statusText}\n${[...response.headers].map(([name, value]) => `${name}: ${sanitizeText(value)}\n`).join('')}\n`
