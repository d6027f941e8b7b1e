/** A payment that was sent. */
interface Payment {
  amountCents: number
  paymentReference: string | null
}

/** An account statement with one entry for each payment; returned ones are credited again. */
export function statement(payments: { line: Payment; isReturned?: boolean }[]): string {
  const entry = ({ line, isReturned }: { line: Payment; isReturned?: boolean }) => {
    const amount = `<Amt Ccy="EUR">${(line.amountCents / 100).toFixed(2)}</Amt>`
    const ofKind = isReturned ? 'CRDT' : 'DBIT'
    const reason = isReturned ? '<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>' : ''
    return `<Ntry>${amount}<CdtDbtInd>${ofKind}</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>2026-11-04</Dt></BookgDt>
      <NtryDtls><TxDtls><Refs><AcctSvcrRef>B${line.paymentReference}</AcctSvcrRef><EndToEndId>${line.paymentReference}</EndToEndId></Refs>
      ${amount}${reason}</TxDtls></NtryDtls></Ntry>`
  }
  return `<?xml version="1.0" encoding="UTF-8"?>
    <Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt>
    <Ntry><Amt Ccy="EUR">7.00</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>
      <NtryDtls><TxDtls><Refs><EndToEndId>NOTPROVIDED</EndToEndId></Refs></TxDtls></NtryDtls></Ntry>
    ${payments.map(entry).join('\n')}</Stmt></BkToCstmrStmt></Document>`
}

/** A status report (pain.002) about a payment file. */
export const statusReport = (fileId: string, group: string, transactions = '') =>
  `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"><CstmrPmtStsRpt><GrpHdr><CreDtTm>2026-11-05T10:00:00</CreDtTm></GrpHdr>
    <OrgnlGrpInfAndSts><OrgnlMsgId>${fileId}</OrgnlMsgId>${group}</OrgnlGrpInfAndSts>
    <OrgnlPmtInfAndSts>${transactions}</OrgnlPmtInfAndSts></CstmrPmtStsRpt></Document>`
