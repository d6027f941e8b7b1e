import { UnreadableFileError } from '../../../core/unreadable-file.ts'
import {
  addOther,
  addResult,
  dateOf,
  emptyResults,
  isPaymentReference,
  type ReportedResults,
  textOf,
} from './result.ts'
import { childrenOf, elementAt, readXml, textAt, type XmlElement } from './xml.ts'

/** The elements to read, by their ISO 20022 names. Others are skipped. */
const READ_ELEMENTS = new Set(
  `Document CstmrPmtStsRpt GrpHdr CreDtTm OrgnlGrpInfAndSts OrgnlMsgId GrpSts OrgnlPmtInfAndSts PmtInfSts TxInfAndSts
  OrgnlEndToEndId TxSts StsRsnInf Rsn Cd Prtry AddtlInf OrgnlTxRef Amt InstdAmt AcctSvcrRef
  BkToCstmrStmt Stmt BkToCstmrDbtCdtNtfctn Ntfctn Ntry NtryDtls TxDtls Refs EndToEndId Sts CdtDbtInd RvslInd BkTxCd Domn
  Fmly SubFmlyCd RtrInf AmtDtls TxAmt BookgDt Dt DtTm`.split(/\s+/),
)

/**
 * Reads a payment status report (pain.002), an account statement (camt.053) or a notification (camt.054).
 *
 * @throws UnreadableFileError
 */
export function readBankMessage(text: string, file: string): ReportedResults {
  const results = emptyResults('')
  let transactions = 0
  const onEnd = {
    TxInfAndSts: (result: XmlElement) => {
      transactions += 1
      readStatus(results, result)
    },
    Ntry: (entry: XmlElement) => readEntry(results, entry),
  }
  const message = elementAt(readXml(text, file, { keep: READ_ELEMENTS, onEnd }), 'Document')
  const report = elementAt(message, 'CstmrPmtStsRpt')
  if (report) {
    const date = dateOf(textAt(report, 'GrpHdr', 'CreDtTm'))
    for (const result of results.results) result.date ??= date
    if (transactions === 0) readWhole(results, report, date)
    return { ...results, kind: 'pain.002' }
  }
  if (elementAt(message, 'BkToCstmrStmt', 'Stmt')) return { ...results, kind: 'camt.053' }
  if (elementAt(message, 'BkToCstmrDbtCdtNtfctn', 'Ntfctn')) return { ...results, kind: 'camt.054' }
  throw new UnreadableFileError(`${file} is neither pain.002, camt.053 nor camt.054.`)
}

const STATUSES = { RJCT: 'RETURNED', ACSC: 'SETTLED', ACCC: 'SETTLED' } as const
const outcomeOf = (status: string | undefined) => STATUSES[status as keyof typeof STATUSES]

const codeIn = (reason: XmlElement | undefined) => textAt(reason, 'Rsn', 'Cd') ?? textAt(reason, 'Rsn', 'Prtry')

function reasonOf(element: XmlElement | undefined): string | undefined {
  const information = elementAt(element, 'StsRsnInf')
  return codeIn(information) ?? textAt(information, 'AddtlInf')
}

/**
 * If no transactions are listed, the status of the group, or the one that all of its parts share, applies to each
 * payment.
 */
function readWhole(results: ReportedResults, report: XmlElement, date: string | null): void {
  const group = elementAt(report, 'OrgnlGrpInfAndSts')
  const parts = childrenOf(report, 'OrgnlPmtInfAndSts')
  const id = textAt(group, 'OrgnlMsgId') ?? ''
  const outcomes = new Set(parts.map((part) => outcomeOf(textAt(part, 'PmtInfSts'))))
  const [shared] = outcomes.size === 1 ? outcomes : []
  const outcome = outcomeOf(textAt(group, 'GrpSts')) ?? shared
  if (outcome) results.files.push({ id, outcome, reason: textOf(reasonOf(group) ?? reasonOf(parts[0])), date })
  else if (outcomes.size > 1)
    results.problems.push(`${id} has parts with different statuses and names no payment. Nothing was changed.`)
}

/** A payment's status, with the report's date. */
function readStatus(results: ReportedResults, xmlElement: XmlElement): void {
  const paymentReference = textAt(xmlElement, 'OrgnlEndToEndId')
  if (!isPaymentReference(paymentReference)) {
    addOther(results, paymentReference)
    return
  }
  const status = textAt(xmlElement, 'TxSts') ?? ''
  const outcome = outcomeOf(status)
  const amount = elementAt(xmlElement, 'OrgnlTxRef', 'Amt', 'InstdAmt')
  if (!outcome) results.pending.push({ paymentReference, status })
  else
    addResult(results, {
      at: paymentReference,
      paymentReference,
      outcome,
      amount: amount?.text,
      currency: amount?.attributes.Ccy,
      date: undefined,
      reason: reasonOf(xmlElement),
      reference: textAt(xmlElement, 'AcctSvcrRef'),
    })
}

function readEntry(results: ReportedResults, entry: XmlElement): void {
  const details = childrenOf(entry, 'NtryDtls').flatMap((transaction) => childrenOf(transaction, 'TxDtls'))
  if (details.length === 0) results.others++
  for (const transaction of details) readTransaction(results, entry, { transaction, isOnly: details.length === 1 })
}

function readTransaction(
  results: ReportedResults,
  entry: XmlElement,
  { transaction, isOnly }: { transaction: XmlElement; isOnly: boolean },
): void {
  const paymentReference = textAt(transaction, 'Refs', 'EndToEndId')
  if (!isPaymentReference(paymentReference)) {
    addOther(results, paymentReference)
    return
  }
  const status = textAt(entry, 'Sts', 'Cd') ?? textAt(entry, 'Sts') ?? ''
  const isDebit = (textAt(transaction, 'CdtDbtInd') ?? textAt(entry, 'CdtDbtInd')) === 'DBIT'
  const isReversal = ['true', '1'].includes(textAt(entry, 'RvslInd') ?? '')
  const code = textAt(elementAt(transaction, 'BkTxCd') ?? elementAt(entry, 'BkTxCd'), 'Domn', 'Fmly', 'SubFmlyCd')
  const returned = elementAt(transaction, 'RtrInf')
  const isReturn = returned !== undefined || isReversal || code === 'RRTN'
  if (status !== 'BOOK') results.pending.push({ paymentReference, status })
  else if (isDebit === isReturn)
    results.problems.push(
      `${paymentReference}: a ${isDebit ? 'returned debit entry' : 'credit without return information'} was ignored.`,
    )
  else {
    const amount =
      elementAt(transaction, 'Amt') ??
      elementAt(transaction, 'AmtDtls', 'TxAmt', 'Amt') ??
      elementAt(transaction, 'AmtDtls', 'InstdAmt', 'Amt') ??
      (isOnly ? elementAt(entry, 'Amt') : undefined)
    addResult(results, {
      at: paymentReference,
      paymentReference,
      outcome: isReturn ? 'RETURNED' : 'SETTLED',
      amount: amount?.text,
      currency: amount?.attributes.Ccy,
      date: textAt(entry, 'BookgDt', 'Dt') ?? textAt(entry, 'BookgDt', 'DtTm'),
      reason: codeIn(returned),
      reference: textAt(transaction, 'Refs', 'AcctSvcrRef') ?? textAt(entry, 'AcctSvcrRef'),
    })
  }
}
