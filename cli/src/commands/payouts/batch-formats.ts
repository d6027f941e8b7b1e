import { decimal, isPayableByPaypal, paypalFile, wiseFile } from '@referral/server/payment-file'
import { type Cell, isFormula } from '../../csv/write.ts'
import { sanitizeText } from '../../output/text.ts'

/** An affiliate's row in a batch's export. */
export interface PayoutRow {
  batchId: string
  /** The remittance text for the payee. */
  note: string
  affiliateId: string
  name: string
  email: string
  commissions: number
  commissionCents: number
  taxWithheldCents: number
  netPayableCents: number
}

/** A format of `payouts export` without --file-id: one row per affiliate, with the batch's totals. */
export interface ExportFormat {
  header: readonly string[] | undefined
  /** The maximum number of rows, excluding the header. */
  maxRows: number
  /** Returns why the file cannot contain this payee, or undefined. */
  exclusionReason: (payee: PayoutRow, currency: string) => string | undefined
  cells: (payee: PayoutRow, currency: string) => Cell[]
}

const nothingToPay = ({ netPayableCents }: PayoutRow) => (netPayableCents > 0 ? undefined : 'nothing to pay')
// The apostrophe that disables a formula would change the address.
const unsafeEmail = ({ email }: PayoutRow) =>
  isFormula(email) ? 'a spreadsheet would evaluate the email address as a formula' : undefined
const paymentTo = ({ name, email, netPayableCents: amountCents }: PayoutRow, currency: string, reference: string) => ({
  name,
  email,
  amountCents,
  currency,
  reference,
})

const csv: ExportFormat = {
  header: [
    'batchId',
    'affiliateId',
    'name',
    'email',
    'currency',
    'commissions',
    'commissionCents',
    'taxWithheldCents',
    'netPayableCents',
    'netPayable',
  ],
  maxRows: 1_000_000,
  exclusionReason: () => undefined,
  cells: (payee, currency) => [
    payee.batchId,
    payee.affiliateId,
    payee.name,
    payee.email,
    currency,
    payee.commissions,
    payee.commissionCents,
    payee.taxWithheldCents,
    payee.netPayableCents,
    decimal({ amountCents: payee.netPayableCents, currency }),
  ],
}

const paypal: ExportFormat = {
  header: paypalFile.header,
  maxRows: paypalFile.maxRows,
  exclusionReason: (payee, currency) =>
    nothingToPay(payee) ??
    unsafeEmail(payee) ??
    (isPayableByPaypal(payee.netPayableCents, currency)
      ? undefined
      : `PayPal does not support decimals in ${currency}`),
  cells: (payee, currency) => {
    const reference = payee.affiliateId.replace(/\s/g, '').slice(0, 30)
    return paypalFile.row(paymentTo(payee, currency, reference), payee.note)
  },
}

const wise: ExportFormat = {
  header: wiseFile.header,
  maxRows: wiseFile.maxRows,
  exclusionReason: (payee) =>
    nothingToPay(payee) ?? unsafeEmail(payee) ?? (sanitizeText(payee.name).trim() ? undefined : 'no name'),
  cells: (payee, currency) => wiseFile.row(paymentTo(payee, currency, payee.note)),
}

export const exportFormats = { csv, paypal, wise }
