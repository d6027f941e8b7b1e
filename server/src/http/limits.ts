/** The documented limits, as Markdown, for the quick start and docs/reference/index.md. */
export const LIMITS: [limit: string, value: string][] = [
  ['Requests per minute and key', '100 (Professional), 1,000 (Enterprise)'],
  [
    'Rate limit headers',
    '`X-RateLimit-Limit`, `X-RateLimit-Remaining`, `X-RateLimit-Reset` (seconds until the window resets)',
  ],
  ['Rows per page', '20, at most 100; journey 100, at most 500'],
  ['Body', '1 MiB, 65,000 values'],
  ['Headers and request line', '16 KiB'],
  ['Discount code', '9 characters, without `0`, `o`, and `O`'],
  ['Commission percentage', 'above 0, at most 100'],
  ['Active API keys of a shop', '20'],
  ['Webhook subscriptions of a shop', '100'],
  ['Webhook delivery', '5 seconds to connect, 10 seconds in total, no redirects'],
  ['Analytics', 'the newest 10,000 commissions of the period, 30 days by default'],
]
