import type { components } from '@referral/sdk'

export type PayeeDetails = components['schemas']['PayeeSet']

/** The fields of an export that contain payment details. */
export const PAYEE_FIELDS = {
  paypal: ['paypalEmail', 'paypalAddress', 'paypalAccount', 'payoutEmail', 'paymentEmail', 'payoutsPaypalEmail'],
  wise: ['wiseEmail', 'transferwiseEmail'],
  iban: ['bankAccount', 'accountIban'],
  bic: ['swift', 'swiftCode', 'swiftBic'],
  accountHolder: ['accountName', 'accountHolderName', 'bankAccountHolder', 'beneficiary'],
  accountStreet: ['accountAddress'],
  accountBuilding: ['accountBuildingNumber'],
  accountPostalCode: ['accountZip'],
  accountTown: ['accountCity'],
  accountCountry: [],
}

/**
 * A row's payment details: a bank account before Wise and PayPal. A bank account's holder and address default to the
 * affiliate's.
 */
export function parsePayee(cell: (field: string) => string | undefined, name: string): PayeeDetails | undefined {
  const [iban, wise, paypal] = [cell('iban'), cell('wise'), cell('paypal')]
  if (iban) {
    const hasAddress = ['accountStreet', 'accountBuilding', 'accountPostalCode', 'accountTown'].some(cell)
    return {
      method: 'SEPA',
      name: cell('accountHolder') ?? name,
      iban,
      bic: cell('bic') ?? null,
      streetName: cell('accountStreet') ?? null,
      buildingNumber: cell('accountBuilding') ?? null,
      postalCode: cell('accountPostalCode') ?? (hasAddress ? null : (cell('homePostalCode') ?? null)),
      townName: cell('accountTown') ?? cell('homeCity') ?? '',
      country: (cell('accountCountry') ?? cell('homeCountry') ?? '').toUpperCase(),
    }
  }
  if (wise) return { method: 'WISE', email: wise, name: cell('accountHolder') ?? name }
  return paypal ? { method: 'PAYPAL', email: paypal } : undefined
}

/** Returns the problem with payment details, without the details themselves. The service validates more. */
export function payeeProblem(details: PayeeDetails): string | undefined {
  if (details.method !== 'SEPA')
    return /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(details.email)
      ? undefined
      : `no email address of a ${details.method} account`
  if (!isIban(details.iban)) return 'the IBAN is not valid; compare it with a bank statement'
  if (!details.townName) return 'a bank account needs the town of its holder; add --map accountTown=Column'
  return /^[A-Z]{2}$/.test(details.country)
    ? undefined
    : 'a bank account needs the country of its holder as two letters; add --map accountCountry=Column'
}

/** Whether an IBAN's check digits are correct (ISO 13616). */
function isIban(text: string): boolean {
  const iban = text.replace(/[\s-]/g, '').toUpperCase()
  if (!/^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(iban)) return false
  const digits = (iban.slice(4) + iban.slice(0, 4)).replace(/[A-Z]/g, (letter) => `${letter.charCodeAt(0) - 55}`)
  return BigInt(digits) % 97n === 1n
}
