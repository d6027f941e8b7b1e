import { XMLParser } from 'fast-xml-parser'
import { usageError } from '../../../errors.ts'
import {
  addOther,
  addResult,
  dateOf,
  emptyResults,
  isPaymentReference,
  type ReportedResults,
  textOf,
} from './result.ts'

/** Elements that a message may repeat. */
const REPEATED = [
  'Stmt',
  'Ntfctn',
  'Ntry',
  'NtryDtls',
  'TxDtls',
  'OrgnlPmtInfAndSts',
  'TxInfAndSts',
  'StsRsnInf',
  'AddtlInf',
]

const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  parseTagValue: false,
  removeNSPrefix: true,
  isArray: (name) => REPEATED.includes(name),
})

// biome-ignore lint/suspicious/noExplicitAny: messages of banks are read leniently, as plain trees of elements
type Element = any

/**
 * Reads a payment status report (pain.002), an account statement (camt.053) or a notification (camt.054). Document types are
 * rejected, so no entity is ever defined or loaded.
 *
 * @throws {CliError} usage
 */
export function readBankMessage(text: string, file: string): ReportedResults {
  if (/<!(DOCTYPE|ENTITY)/i.test(text))
    throw usageError(`${file} has a document type, which a message of a bank never has.`)
  const document = parse(text, file).Document
  if (document?.CstmrPmtStsRpt) return readStatusReport(document.CstmrPmtStsRpt)
  const statements = document?.BkToCstmrStmt?.Stmt ?? document?.BkToCstmrDbtCdtNtfctn?.Ntfctn
  if (statements) return readEntries(statements, document.BkToCstmrStmt ? 'camt.053' : 'camt.054')
  throw usageError(`${file} is neither pain.002, camt.053 nor camt.054.`)
}

function parse(text: string, file: string): Element {
  try {
    return parser.parse(text, true)
  } catch (error) {
    throw usageError(`${file} is not well-formed XML: ${(error as Error).message}`)
  }
}

/** The text of an element, which is an object when it has attributes. */
const textIn = (element: Element): string | undefined => {
  const value = typeof element === 'object' ? element?.['#text'] : element
  return value === undefined ? undefined : String(value)
}

const STATUSES = { RJCT: 'RETURNED', ACSC: 'SETTLED', ACCC: 'SETTLED' } as const
const outcomeOf = (status: string | undefined) => STATUSES[status as keyof typeof STATUSES]

const reasonOf = ({ StsRsnInf: [first] = [] }: Element): string | undefined =>
  textIn(first?.Rsn?.Cd) ?? textIn(first?.Rsn?.Prtry) ?? textIn(first?.AddtlInf?.[0])

function readStatusReport(report: Element): ReportedResults {
  const found = emptyResults('pain.002')
  const date = textIn(report.GrpHdr?.CreDtTm)
  const group = report.OrgnlGrpInfAndSts ?? {}
  const parts: Element[] = report.OrgnlPmtInfAndSts ?? []
  const id = textIn(group.OrgnlMsgId) ?? ''
  const transactions = parts.flatMap((part) => part.TxInfAndSts ?? [])
  // Without transactions, the status of the group or of its only part is that of each payment.
  const whole = outcomeOf(textIn(group.GrpSts)) ?? outcomeOf(textIn(parts[0]?.PmtInfSts))
  if (transactions.length === 0 && whole) {
    const reason = reasonOf(group) ?? reasonOf(parts[0] ?? {})
    found.files.push({ id, outcome: whole, reason: textOf(reason), date: dateOf(date) })
  }
  for (const one of transactions) {
    const paymentReference = textIn(one.OrgnlEndToEndId)
    if (!isPaymentReference(paymentReference)) {
      addOther(found, paymentReference)
      continue
    }
    const status = textIn(one.TxSts) ?? ''
    const outcome = outcomeOf(status)
    if (!outcome) found.pending.push({ paymentReference, status })
    else {
      const amount = one.OrgnlTxRef?.Amt?.InstdAmt
      addResult(found, {
        at: paymentReference,
        paymentReference,
        outcome,
        amount: textIn(amount),
        currency: amount?.['@Ccy'],
        date,
        reason: reasonOf(one),
        reference: textIn(one.AcctSvcrRef),
      })
    }
  }
  return found
}

function readEntries(statements: Element[], kind: string): ReportedResults {
  const found = emptyResults(kind)
  for (const entry of statements.flatMap((one) => one.Ntry ?? [])) {
    const details: Element[] = (entry.NtryDtls ?? []).flatMap((one: Element) => one.TxDtls ?? [])
    if (details.length === 0) found.others++
    for (const one of details) readTransaction(found, entry, { one, isOnly: details.length === 1 })
  }
  return found
}

function readTransaction(
  found: ReportedResults,
  entry: Element,
  { one, isOnly }: { one: Element; isOnly: boolean },
): void {
  const paymentReference = textIn(one.Refs?.EndToEndId)
  if (!isPaymentReference(paymentReference)) {
    addOther(found, paymentReference)
    return
  }
  const status = textIn(entry.Sts?.Cd ?? entry.Sts) ?? ''
  const isDebit = textIn(one.CdtDbtInd ?? entry.CdtDbtInd) === 'DBIT'
  const isReversal = textIn(entry.RvslInd) === 'true' || textIn(entry.RvslInd) === '1'
  const code = textIn((one.BkTxCd ?? entry.BkTxCd)?.Domn?.Fmly?.SubFmlyCd)
  const isReturn = one.RtrInf !== undefined || isReversal || code === 'RRTN'
  if (status !== 'BOOK') found.pending.push({ paymentReference, status })
  else if (isDebit === isReturn)
    found.problems.push(
      `${paymentReference}: a ${isDebit ? 'returned debit entry' : 'credit without return information'} was ignored.`,
    )
  else {
    const amount = one.Amt ?? one.AmtDtls?.TxAmt?.Amt ?? one.AmtDtls?.InstdAmt?.Amt ?? (isOnly ? entry.Amt : undefined)
    addResult(found, {
      at: paymentReference,
      paymentReference,
      outcome: isReturn ? 'RETURNED' : 'SETTLED',
      amount: textIn(amount),
      currency: amount?.['@Ccy'],
      date: textIn(entry.BookgDt?.Dt ?? entry.BookgDt?.DtTm),
      reason: textIn(one.RtrInf?.Rsn?.Cd) ?? textIn(one.RtrInf?.Rsn?.Prtry),
      reference: textIn(one.Refs?.AcctSvcrRef) ?? textIn(entry.AcctSvcrRef),
    })
  }
}
