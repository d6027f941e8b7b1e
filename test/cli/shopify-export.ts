/** The columns of a Shopify order export that the tests use. */
export const SHOPIFY_COLUMNS = [
  'Name',
  'Email',
  'Financial Status',
  'Paid at',
  'Currency',
  'Subtotal',
  'Shipping',
  'Taxes',
  'Total',
  'Discount Code',
  'Discount Amount',
  'Lineitem quantity',
  'Lineitem name',
  'Cancelled at',
  'Refunded Amount',
  'Id',
]

/** A paid order: 100.00 for goods, 10.00 discount, 5.00 shipping and 18.00 tax. */
export const shopifyOrder = (number: string, change: Record<string, string> = {}) => ({
  Name: `#${number}`,
  Email: 'ada@example.com',
  'Financial Status': 'paid',
  'Paid at': '2026-10-03 10:00:00 +0200',
  Currency: 'USD',
  Subtotal: '90.00',
  Shipping: '5.00',
  Taxes: '18.00',
  Total: '113.00',
  'Discount Code': 'NISA16',
  'Discount Amount': '10.00',
  'Lineitem quantity': '1',
  'Lineitem name': 'Hat',
  'Refunded Amount': '0.00',
  Id: `55${number}`,
  ...change,
})
