import { createHmac } from 'node:crypto'
import type { Heavy } from './heavy.ts'
import type { FuzzWorld } from './world.ts'

const BYTES = 4 * 1024 * 1024 - 1000
const fill = (text: string, bytes = BYTES) => text.repeat(Math.floor(bytes / Buffer.byteLength(text)))
const many = (count: number, make: (i: number) => string) => Array.from({ length: count }, (_, i) => make(i)).join(',')

const LINES = `"line_items":[${many(1000, (i) => `{"product_id":${i},"variant_id":${100_000 + i},"price":"9.99","quantity":3}`)}]`
const TAXES = many(16, () => '{"price":"0.0123456789012345678901234567890123"}')
const ITEMS = `"refund_line_items":[${many(2000, (i) => `{"quantity":1,"subtotal":9.99,"line_item":{"product_id":${i % 1000},"variant_id":${100_000 + (i % 1000)}}}`)}]`

/** Properties of a paid order. */
const ORDERS: Record<string, string> = {
  'a landing_site of two million parameters': `"landing_site":"/?${fill('a&')}"`,
  'a landing_site of two million steps up': `"landing_site":"/${fill('../')}"`,
  '300,000 discount codes': `"discount_codes":[${fill('{"code":"C"},')}{}]`,
  '100,000 notes': `"note_attributes":[${fill('{"name":"referral_click_id","value":" "},')}{}]`,
  'a click reference of a million characters': `"note_attributes":[{"name":"referral_click_id","value":"${fill('😀')}"}]`,
  'a click reference of four million spaces': `"note_attributes":[{"name":"referral_click_id","value":"x${fill(' ')}x"}]`,
  'an email address of four million characters': `"email":"${fill('a@')}"`,
  'a time of four million brackets': `"processed_at":"${fill('(')}"`,
  'an amount of four million digits': `"subtotal_price":"1.${fill('1')}"`,
  'a number of four million digits': `"subtotal_price":${fill('9')}`,
  '1,000 lines': LINES,
  '1,000 lines with a code': `"discount_codes":[{"code":"NISA16"}],${LINES}`,
  '1,000 lines with 16 taxes each': `"taxes_included":true,"line_items":[${many(1000, () => `{"price":"99.99","quantity":1,"tax_lines":[${TAXES}]}`)}]`,
  '1,000 lines with ids of 2,000 digits': `"line_items":[${many(1000, (i) => `{"product_id":"${'1'.repeat(1996)}${i}","variant_id":"${'2'.repeat(1996)}${i}","price":"9.99","quantity":1}`)}]`,
  '250,000 lines': `"line_items":[${fill('{"price":"9.99"},')}{}]`,
  '2 million wrong lines': `"line_items":[${fill('1,')}1]`,
  '600,000 unknown properties': `${fill('"ix":1,')}"iy":1`,
  '600,000 times the id': `${fill('"id":1,')}"id":1`,
  '1.4 million empty lists': `"x":[${fill('[],')}[]]`,
  '100,000 long numbers': `"x":[${fill('12345678901234567890123456789012345678,')}1]`,
  'four million characters of text': `"x":"${fill('x')}"`,
  'two million escapes': `"x":"${fill('\\"')}"`,
  'four million spaces': `${fill(' ')}"x":1`,
}
const REFUNDS: Record<string, string> = {
  '2,000 items': ITEMS,
  '100,000 items': `"refund_line_items":[${fill('{"quantity":1,"line_item":{"product_id":1}},')}{}]`,
  'a note of two million characters': `"refund_line_items":[],"note":"${fill('é')}"`,
  '100,000 adjustments': `"refund_line_items":[],"order_adjustments":[${fill('{"kind":"refund_discrepancy"},')}{}]`,
}
const CANCELLATIONS: Record<string, string> = {
  '1,000 lines': LINES,
  '250,000 lines': `"line_items":[${fill('{"price":"9.99"},')}{}]`,
  'four million characters of text': `"x":"${fill('x')}"`,
}

/** Well-signed store notifications of up to 4 MiB. */
export function heavyNotifications({ server, storeSecret }: FuzzWorld): Heavy[] {
  let ids = 10_000_000
  const base = `/integrations/shopify/${server.shop.shopId}`
  const notification = (topic: string, what: string, bodyOf: () => string): Heavy => ({
    name: `${topic} with ${what}`,
    method: 'POST',
    path: `${base}/${topic}`,
    // A repeated order would change nothing and cost less.
    fresh: () => {
      const body = bodyOf()
      const signature = createHmac('sha256', storeSecret).update(body).digest('base64')
      return { body, headers: { 'X-Shopify-Hmac-Sha256': signature, 'X-Shopify-Topic': topic.replace('-', '/') } }
    },
  })
  const known = ++ids
  const paid = (id: number, rest: string) =>
    `{"id":${id},"financial_status":"paid","cancelled_at":null,"total_line_items_price":"29970.00",${rest}}`
  return [
    notification('orders-paid', 'the order of the refunds', () => paid(known, ORDERS['1,000 lines with a code']!)),
    ...Object.entries(ORDERS).map(([what, rest]) => notification('orders-paid', what, () => paid(++ids, rest))),
    ...[known, 1].flatMap((orderId) =>
      Object.entries(REFUNDS).map(([what, rest]) =>
        notification(`refunds-create`, `${what} of ${orderId}`, () => `{"id":${++ids},"order_id":${orderId},${rest}}`),
      ),
    ),
    ...Object.entries(CANCELLATIONS).map(([what, rest]) =>
      notification('orders-cancelled', what, () => `{"id":${++ids},"cancelled_at":"2026-10-22T00:00:00Z",${rest}}`),
    ),
  ]
}
