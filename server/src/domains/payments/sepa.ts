import type { components } from '../../contract/schema.d.ts'
import { toUnits } from '../../core/currencies.ts'
import { toSepaText } from './sepa-text.ts'

type Schemas = components['schemas']
type FileLine = Schemas['PayoutFileLine']
type SepaPayee = Schemas['SepaPayee']

const PAIN_NAMESPACE = 'urn:iso:std:iso:20022:tech:xsd:pain.001.001.09'

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' }
const escapeXml = (text: string) => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character)

/** An element with text, or nothing if there is no text. */
const element = (name: string, text: string | null | undefined): string =>
  text ? `<${name}>${escapeXml(text)}</${name}>` : ''

/**
 * The start of a credit transfer initiation (ISO 20022 pain.001.001.09), as restricted by the SEPA credit transfer
 * rulebook.
 */
export function sepaHead(file: Schemas['PayoutFile'], debtor: Schemas['Debtor']): string {
  const sums = element('NbOfTxs', String(file.lines)) + element('CtrlSum', toUnits(file.totalCents, 'EUR'))
  const name = element('Nm', toSepaText(debtor.name, 70))
  return `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="${PAIN_NAMESPACE}">
<CstmrCdtTrfInitn>
<GrpHdr>${element('MsgId', file.id)}${element('CreDtTm', file.createdAt.slice(0, 19))}${sums}<InitgPty>${name}</InitgPty></GrpHdr>
<PmtInf>
${element('PmtInfId', file.id)}<PmtMtd>TRF</PmtMtd>${
    // Each payment is booked separately, so that statements list it.
    element('BtchBookg', 'false')
  }${sums}<PmtTpInf><SvcLvl><Cd>SEPA</Cd></SvcLvl></PmtTpInf><ReqdExctnDt>${element('Dt', file.executionDate)}</ReqdExctnDt>
<Dbtr>${name}</Dbtr><DbtrAcct><Id>${element('IBAN', debtor.iban)}</Id></DbtrAcct><DbtrAgt><FinInstnId>${agentOf(debtor.bic)}</FinInstnId></DbtrAgt><ChrgBr>SLEV</ChrgBr>
`
}

export const SEPA_TAIL = '</PmtInf>\n</CstmrCdtTrfInitn>\n</Document>\n'

/** One transfer. */
export function sepaTransfer(line: FileLine, note: string): string {
  const payee = sepaPayeeOf(line)
  const reference = element('InstrId', line.paymentReference) + element('EndToEndId', line.paymentReference)
  const agent = payee.bic ? `<CdtrAgt><FinInstnId>${element('BICFI', payee.bic)}</FinInstnId></CdtrAgt>` : ''
  const amount = `<InstdAmt Ccy="EUR">${toUnits(line.amountCents, 'EUR')}</InstdAmt>`
  return `<CdtTrfTxInf><PmtId>${reference}</PmtId><Amt>${amount}</Amt>${agent}<Cdtr>${element('Nm', toSepaText(payee.name, 70))}<PstlAdr>${addressOf(payee)}</PstlAdr></Cdtr><CdtrAcct><Id>${element('IBAN', payee.iban)}</Id></CdtrAcct><RmtInf>${element('Ustrd', toSepaText(note, 140))}</RmtInf></CdtTrfTxInf>
`
}

/** The structured address, in the schema's order. */
function addressOf({ streetName, buildingNumber, postalCode, townName, country }: SepaPayee): string {
  const text = (name: string, value: string | null | undefined, maxLength: number) =>
    element(name, value && toSepaText(value, maxLength))
  return (
    text('StrtNm', streetName, 70) +
    text('BldgNb', buildingNumber, 16) +
    text('PstCd', postalCode, 16) +
    text('TwnNm', townName, 35) +
    element('Ctry', country)
  )
}

const agentOf = (bic: string | null | undefined): string =>
  bic ? element('BICFI', bic) : `<Othr>${element('Id', 'NOTPROVIDED')}</Othr>`

function sepaPayeeOf({ id, payee, currency }: FileLine): SepaPayee {
  if (payee.method === 'SEPA' && currency === 'EUR') return payee
  throw new Error(`Line ${id} is not a payment in euros to an IBAN.`)
}
