/** A question that clients offer to their users. */
export interface Prompt {
  name: string
  title: string
  /** The credential that its tools require. */
  credential: 'apiKey' | 'ownerToken'
  /** The arguments and their descriptions. All are required. */
  arguments: Record<string, string>
  text: (values: Record<string, string>) => string
}

const MONTH = 'month, such as 2026-10'

export const prompts: readonly Prompt[] = [
  {
    name: 'why_order',
    title: 'Why was this order credited, or not?',
    credential: 'apiKey',
    arguments: { order: 'order id' },
    text: ({ order }) =>
      `Explain in plain words why order ${order} was credited to its affiliate, or why it was not. Use getOrderExplanation: name the evidence that won, the evidence that lost and why, the restriction if there is one, and how the amount was calculated.`,
  },
  {
    name: 'what_is_payable',
    title: 'What is payable, and why is the rest not?',
    credential: 'apiKey',
    arguments: { month: MONTH },
    text: ({ month }) =>
      `List what the batch of ${month} pays and what it does not. Use getShopInfo for the shop's time zone, previewCreatePayout for what is paid, and getUnpaid for the rest; group the rest by reason, with totals per currency.`,
  },
  {
    name: 'preview_month',
    title: "Preview a month's payout",
    credential: 'apiKey',
    arguments: { month: MONTH },
    text: ({ month }) =>
      `Preview the payout batch of ${month} with previewCreatePayout, from the month's first to its last millisecond in the shop's time zone (getShopInfo). Show the totals, the affiliates who are paid most, and what is on hold or held back. Create nothing.`,
  },
  {
    name: 'top_affiliates',
    title: 'Who are the top affiliates?',
    credential: 'apiKey',
    arguments: { month: MONTH },
    text: ({ month }) =>
      `Rank the affiliates of ${month} with getAnalytics: orders, clicks, revenue, commissions and conversion rate. Say whether the figures are truncated.`,
  },
  {
    name: 'other_terms',
    title: 'What would other terms have paid?',
    credential: 'ownerToken',
    arguments: { month: MONTH, terms: 'the other terms, such as 20 percent' },
    text: ({ month, terms }) =>
      `Calculate with runBacktest what the orders of ${month} would have paid under other terms: ${terms}. Compare it with what they did pay, in total and for the affiliates with the largest differences.`,
  },
]
