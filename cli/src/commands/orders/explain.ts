import type { OrderExplanation } from '@referral/sdk'
import { formatMoney } from '../../money.ts'
import { sanitizeText } from '../../output/text.ts'
import type { Run } from '../../run.ts'

/** Prints why an order earned a commission: as text on a terminal, otherwise as data. */
export async function explain(run: Run, externalOrderId: string): Promise<undefined> {
  const data = await (await run.client()).orders.explain(externalOrderId)
  if (run.style.format === 'table') run.printText(toText(run, data))
  else run.printRecord(data)
}

function toText(run: Run, data: OrderExplanation): string {
  const { bold, dim, yellow } = run.style.palette
  const evidence = data.evidence.flatMap(({ kind, because, candidates }) => [
    `  ${kind}: ${sanitizeText(because)}`,
    ...candidates.map(({ source, value, because: reason }) =>
      dim(`    ${sanitizeText(`${source} ${value}: ${reason}`)}`),
    ),
  ])
  const sums = data.arithmetic.map(
    ({ text, cents, currency }) => `  ${formatMoney(cents, currency).padStart(16)}  ${sanitizeText(text)}`,
  )
  const lines = [
    bold(sanitizeText(data.summary)),
    '',
    'Evidence',
    ...evidence,
    ...(data.restriction ? ['', yellow(sanitizeText(data.restriction.because))] : []),
    ...(sums.length ? ['', 'Amount', ...sums] : []),
    '',
    data.replay.identical
      ? 'Replaying the decision today gives the same result.'
      : yellow('Replaying the decision today gives a different result.'),
  ]
  return `${lines.join('\n')}\n`
}
