import type { Trx } from '../db/database.ts'

interface Customer {
  customerId: string | null
  /** As the journey holds it. */
  customerEmailKey: string | null
  orderId: string
}

/** Whether the journey holds an order of a customer, by either name, that somebody was credited for; `orderId` does not count. */
export async function hasOtherOrder(trx: Trx, shopId: string, customer: Customer): Promise<boolean> {
  const by = async (column: 'customerId' | 'customerEmailKey') => {
    const value = customer[column]
    if (!value) return false
    const row = await trx
      .selectFrom('journey')
      .innerJoin('commissions', 'commissions.id', 'journey.commissionId')
      .select('journey.id')
      .where('journey.shopId', '=', shopId)
      .where(`journey.${column}`, '=', value)
      // Of all that is known of a customer, only orders: there is an index of these.
      .where('journey.commissionId', 'is not', null)
      .where('journey.orderId', '<>', customer.orderId)
      // An order that was restricted was credited to nobody in the end.
      .where('commissions.restrictionReasonCode', 'is', null)
      .limit(1)
      .executeTakeFirst()
    return row !== undefined
  }
  return (await by('customerId')) || (await by('customerEmailKey'))
}
