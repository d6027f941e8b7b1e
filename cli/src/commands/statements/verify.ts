import { createHash } from 'node:crypto'
import { createReadStream, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { components } from '@referral/sdk'
import { CliError, type ExitCode, exitCode, usageError } from '../../errors.ts'
import type { Run } from '../../run.ts'

export interface VerifyOptions {
  audit?: string
}

type Statement = components['schemas']['Statement']
type Line = Statement['lines'][number]

interface StatementCheck {
  ok: boolean
  number: string
  lines: number
  /** The number of the first wrong line; null when the file as a whole is wrong. */
  line: number | null
  problem: string | null
  /** Lines that agree with the audit log. */
  proven: number
  /** Lines from before the export. */
  unproven: number
}

/** Verifies a file of `statements get`. */
export async function verify(run: Run, file: string, { audit }: VerifyOptions): Promise<ExitCode | undefined> {
  const statement = readStatement(file)
  const { number, lines } = statement
  const own = findAlteredLine(statement)
  const proof = own || !audit ? undefined : await compareWithAudit(statement, audit)
  const problem = own ?? proof?.problem
  const check: StatementCheck = {
    ok: problem === undefined,
    number,
    lines: lines.length,
    line: problem?.line ?? null,
    problem: problem?.text ?? null,
    proven: proof?.proven ?? 0,
    unproven: proof?.unproven ?? 0,
  }
  run.printRecord(check)
  if (!audit && !problem)
    run.reporter.info('Without --audit, a file in which every hash was recomputed is not detected.')
  if (problem) run.reporter.warn(problem.line === null ? problem.text : `Line ${problem.line}: ${problem.text}`)
  return problem ? exitCode.unexpected : undefined
}

function readStatement(file: string): Statement {
  let value: Statement
  try {
    value = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw usageError(`${file} cannot be read as JSON: ${(error as Error).message}`)
  }
  if (value?.statement !== 1 || !Array.isArray(value.lines) || !Array.isArray(value.currencies))
    throw usageError(`${file} is not a statement.`, 'Use a file of `referral statements get --format json`.')
  return value
}

interface Problem {
  line: number | null
  text: string
}

const sha256 = (values: unknown[]): string => createHash('sha256').update(JSON.stringify(values)).digest('hex')

const HEAD = [
  'statement',
  'shopId',
  'shopName',
  'affiliateId',
  'name',
  'email',
  'month',
  'timeZone',
  'periodStart',
  'periodEnd',
  'currencies',
] as const

/** The properties that a hash covers, in order. `server/src/payouts/statement-lines.ts` has a copy. */
const HASHED = [
  'line',
  'at',
  'kind',
  'reason',
  'currency',
  'status',
  'amountCents',
  'balanceCents',
  'commissionCents',
  'taxWithheldCents',
  'orderId',
  'commissionId',
  'refundId',
  'payoutBatchId',
] as const

const contentHash = (line: Line): string => sha256(HASHED.map((name) => line[name]))

const SUMS = {
  ORDER: 'ordersCents',
  REFUND: 'refundsCents',
  ADJUSTMENT: 'adjustmentsCents',
  PAYMENT: 'paymentsCents',
} as const

/** Checks what the file itself proves. */
function findAlteredLine(statement: Statement): Problem | undefined {
  const balances = new Map(statement.currencies.map(({ currency, openingCents }) => [currency, openingCents]))
  const sums = new Map<string, number>()
  let previous = sha256(HEAD.map((name) => statement[name]))
  for (const [index, line] of statement.lines.entries()) {
    const at = index + 1
    if (line.line !== at) return { line: at, text: `has the number ${line.line}; a line is missing or moved` }
    const balance = (balances.get(line.currency) ?? Number.NaN) + line.amountCents
    previous = sha256([previous, contentHash(line)])
    if (line.hash !== previous) {
      const isHead = index === 0 && balance === line.balanceCents
      return isHead
        ? { line: at, text: 'does not have its hash: it, or the head of the statement, was altered' }
        : { line: at, text: 'does not have its hash: it was altered' }
    }
    if (balance !== line.balanceCents)
      return { line: at, text: `has the balance ${line.balanceCents} instead of ${balance}` }
    balances.set(line.currency, balance)
    const column = `${line.currency} ${SUMS[line.kind as keyof typeof SUMS]}`
    sums.set(column, (sums.get(column) ?? 0) + line.amountCents)
  }
  if (statement.digest !== previous) return { line: null, text: 'The digest is not the hash of the last line.' }
  if (!statement.number.endsWith(`-${previous.slice(0, 8)}`))
    return { line: null, text: 'The number does not belong to the digest.' }
  for (const one of statement.currencies) {
    if (balances.get(one.currency) !== one.closingCents)
      return { line: null, text: `The closing balance in ${one.currency} is not the balance of the last line.` }
    for (const name of Object.values(SUMS))
      if ((sums.get(`${one.currency} ${name}`) ?? 0) !== one[name])
        return { line: null, text: `${name} in ${one.currency} is not the sum of its lines.` }
  }
  return undefined
}

interface AuditRow {
  seq: number
  id: string
  shopId: string
  actor: string
  action: string
  subjectId: string | null
  data: string
  requestId: string
  createdAt: string
  previousHash: string
  hash: string
  salt: string | null
  digest: string | null
}

interface AuditFacts {
  /** The latest amounts of each commission, by id. */
  commissions: Map<string, { amountCents: number; taxWithheldCents?: number }>
  /** By commission and refund id. */
  refunds: Map<string, { commissionCents: number; taxCents?: number; adjustmentId: string | null }>
  /** By adjustment id. */
  reversals: Map<string, number>
  issued: { digest: string; month: string; contents?: Record<string, string> }[]
  /** The export begins after this row. */
  after: number
}

interface Proof {
  proven: number
  unproven: number
  problem?: Problem
}

/** Compares every line with the audit log. */
async function compareWithAudit(statement: Statement, file: string): Promise<Proof> {
  const facts = await readAudit(file, statement)
  const issued = facts.issued.find(({ digest }) => digest === statement.digest)
  // The statement that was issued for the same lines, if this one was computed again.
  const contents = issued?.contents ?? facts.issued.findLast(({ month }) => month === statement.month)?.contents ?? {}
  let [proven, unproven] = [0, 0]
  for (const line of statement.lines) {
    const expected = expectedOf(line, facts, contents)
    if (expected === undefined) unproven++
    else if (expected === true) proven++
    else return { proven, unproven, problem: { line: line.line, text: expected } }
  }
  if (!issued) return { proven, unproven, problem: { line: null, text: 'No statement with this digest was issued.' } }
  return { proven, unproven }
}

/** True for a line that agrees with the audit log, what is wrong with it, or undefined when the log has no record of it. */
function expectedOf(line: Line, facts: AuditFacts, contents: Record<string, string>): string | true | undefined {
  const { kind, commissionId, commissionCents, taxWithheldCents, refundId } = line
  const compare = (cents: number, tax: number) =>
    cents === commissionCents && tax === taxWithheldCents
      ? agrees(line)
      : `has ${commissionCents} cents (tax ${taxWithheldCents}), but the audit log has ${cents} (tax ${tax})`
  if (kind === 'ORDER') {
    const found = facts.commissions.get(commissionId ?? '')
    return found && compare(found.amountCents, found.taxWithheldCents ?? 0)
  }
  if (kind === 'REFUND') {
    const found = facts.refunds.get(`${commissionId} ${refundId}`)
    return found && compare(found.commissionCents, found.taxCents ?? 0)
  }
  if (kind === 'ADJUSTMENT' && line.orderId !== null) {
    const reversed = facts.reversals.get(commissionId ?? '')
    if (reversed !== undefined)
      return reversed === commissionCents || `has ${commissionCents} cents, but the audit log has ${reversed}`
    const found = [...facts.refunds.values()].find(({ adjustmentId }) => adjustmentId === commissionId)
    return found && compare(found.commissionCents, found.taxCents ?? 0)
  }
  const content = contents[line.line]
  if (content === undefined) return undefined
  return contentHash(line).startsWith(content) || 'is not the line that was issued'
}

/** What the balance changes by is the commission less tax, or nothing while the order is not approved. */
function agrees({ amountCents, commissionCents, taxWithheldCents, status }: Line): string | true {
  const net = commissionCents - taxWithheldCents
  const isEarned = !['PENDING', 'REJECTED', 'CANCELED'].includes(status ?? '')
  return (
    amountCents === (isEarned ? net : 0) || `changes the balance by ${amountCents} instead of ${isEarned ? net : 0}`
  )
}

/** Reads an export, verifies its chain, and keeps what concerns the statement. */
async function readAudit(file: string, { shopId, affiliateId }: Statement): Promise<AuditFacts> {
  const facts: AuditFacts = { commissions: new Map(), refunds: new Map(), reversals: new Map(), issued: [], after: 0 }
  let end = { seq: 0, hash: '' }
  let isComplete = false
  let number = 0
  for await (const text of createInterface({
    input: createReadStream(file, 'utf8'),
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    number++
    const value = parse(text, file, number)
    if (number === 1) {
      if (value.export !== 'audit' || value.shopId !== shopId)
        throw brokenAudit(file, 1, 'it is not the audit of the shop of the statement')
      end = value.after
      facts.after = end.seq
    } else if (value.end) {
      if (value.end.seq !== end.seq || value.end.hash !== end.hash) throw brokenAudit(file, number, 'rows are missing')
      isComplete = true
    } else {
      const row: AuditRow = value
      if (row.seq !== end.seq + 1 || row.previousHash !== end.hash || row.hash !== hashOf(row))
        throw brokenAudit(file, number, `row ${row.seq} was altered, or rows are missing`)
      end = { seq: row.seq, hash: row.hash }
      keep(facts, row, affiliateId)
    }
  }
  if (!isComplete) throw brokenAudit(file, number, 'the export is incomplete')
  return facts
}

const hashOf = ({ previousHash, seq, id, shopId, actor, action, requestId, createdAt, ...about }: AuditRow) =>
  sha256([previousHash, seq, id, shopId, actor, action, digestOf(about), requestId, createdAt])

/** The digest of subject and data, which is all that is left of them where a person was erased. */
const digestOf = ({ salt, digest, subjectId, data }: Pick<AuditRow, 'salt' | 'digest' | 'subjectId' | 'data'>) =>
  salt === null ? digest : sha256([salt, subjectId, data])

function keep(facts: AuditFacts, { action, subjectId, data }: AuditRow, affiliateId: string): void {
  const id = subjectId ?? ''
  switch (action) {
    case 'commission.created':
    case 'commission.reopened':
      facts.commissions.set(id, JSON.parse(data))
      break
    case 'commission.refunded': {
      const refund = JSON.parse(data)
      facts.refunds.set(`${id} ${refund.externalRefundId}`, refund)
      break
    }
    case 'commission.reversed': {
      const { adjustmentId, amountCents } = JSON.parse(data)
      if (adjustmentId) facts.reversals.set(adjustmentId, amountCents)
      break
    }
    case 'statement.issued':
      if (id === affiliateId) facts.issued.push(JSON.parse(data))
      break
  }
}

// biome-ignore lint/suspicious/noExplicitAny: a line may contain anything
function parse(text: string, file: string, number: number): any {
  try {
    return JSON.parse(text)
  } catch {
    throw brokenAudit(file, number, 'it is not JSON')
  }
}

const brokenAudit = (file: string, line: number, problem: string) =>
  new CliError(exitCode.unexpected, `${file}, line ${line}: ${problem}.`, {
    code: 'audit_broken',
    hint: 'Check the export with `referral-server audit verify`.',
  })
