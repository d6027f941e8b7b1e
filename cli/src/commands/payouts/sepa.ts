import type { components } from '@referral/sdk'
import { CliError, exitCode } from '../../errors.ts'
import { sumCents, toDecimal } from '../../money.ts'
import { renderXml } from '../../xml/write.ts'
import { toSepaText } from './sepa-text.ts'

type Schemas = components['schemas']
export type FileLine = Schemas['PayoutFileLine']
type SepaPayee = Schemas['SepaPayee']

export const PAIN_NAMESPACE = 'urn:iso:std:iso:20022:tech:xsd:pain.001.001.09'

/** A credit transfer initiation, ISO 20022 pain.001.001.09, as the rulebook of SEPA credit transfers restricts it. */
export function renderSepa(
  { file, debtor }: { file: Schemas['PayoutFile']; debtor: Schemas['Debtor'] },
  lines: readonly FileLine[],
  note: string,
): string {
  const count = String(lines.length)
  const sum = toDecimal(sumCents(lines.map(({ amountCents }) => amountCents)), 'EUR')
  const initiation = {
    GrpHdr: {
      MsgId: file.id,
      CreDtTm: file.createdAt.slice(0, 19),
      NbOfTxs: count,
      CtrlSum: sum,
      InitgPty: { Nm: toSepaText(debtor.name, 70) },
    },
    PmtInf: {
      PmtInfId: file.id,
      PmtMtd: 'TRF',
      // Each payment is booked on its own, so that a statement names it.
      BtchBookg: 'false',
      NbOfTxs: count,
      CtrlSum: sum,
      PmtTpInf: { SvcLvl: { Cd: 'SEPA' } },
      ReqdExctnDt: { Dt: file.executionDate ?? '' },
      Dbtr: { Nm: toSepaText(debtor.name, 70) },
      DbtrAcct: { Id: { IBAN: debtor.iban } },
      DbtrAgt: { FinInstnId: agentOf(debtor.bic) },
      ChrgBr: 'SLEV',
      CdtTrfTxInf: lines.map((line) => transfer(line, note)),
    },
  }
  return renderXml({ Document: { '@xmlns': PAIN_NAMESPACE, CstmrCdtTrfInitn: initiation } })
}

function transfer(line: FileLine, note: string) {
  const payee = sepaPayeeOf(line)
  return {
    PmtId: { InstrId: line.paymentReference, EndToEndId: line.paymentReference },
    Amt: { InstdAmt: { '#text': toDecimal(line.amountCents, 'EUR'), '@Ccy': 'EUR' } },
    ...(payee.bic && { CdtrAgt: { FinInstnId: { BICFI: payee.bic } } }),
    Cdtr: { Nm: toSepaText(payee.name, 70), PstlAdr: addressOf(payee) },
    CdtrAcct: { Id: { IBAN: payee.iban } },
    RmtInf: { Ustrd: toSepaText(note, 140) },
  }
}

/** The structured address, in the order of the schema. */
function addressOf({ streetName, buildingNumber, postalCode, townName, country }: SepaPayee) {
  return {
    ...(streetName && { StrtNm: toSepaText(streetName, 70) }),
    ...(buildingNumber && { BldgNb: toSepaText(buildingNumber, 16) }),
    ...(postalCode && { PstCd: toSepaText(postalCode, 16) }),
    TwnNm: toSepaText(townName, 35),
    Ctry: country,
  }
}

const agentOf = (bic: string | null | undefined) => (bic ? { BICFI: bic } : { Othr: { Id: 'NOTPROVIDED' } })

function sepaPayeeOf({ id, payee, currency }: FileLine): SepaPayee {
  if (payee.method === 'SEPA' && currency === 'EUR') return payee
  throw new CliError(exitCode.unexpected, `Line ${id} is not a payment in euros to an IBAN.`, {
    code: 'payout_line_unexpected',
  })
}
