import type { components } from '@referral/sdk'
import { unwrap } from '../../errors.ts'
import { formatMoney } from '../../money.ts'
import { sanitizeText } from '../../output/text.ts'
import type { Run } from '../../run.ts'

type Explanation = components['schemas']['Explanation']

/** Prints why an order earned a commission: as text on a terminal, otherwise as data. */
export async function explain(run: Run, externalOrderId: string): Promise<undefined> {
  const owner = await run.ownerClient()
  const { data } = unwrap(
    await owner.GET('/admin/v1/orders/{externalOrderId}/explanation', { params: { path: { externalOrderId } } }),
  )
  if (run.style.format === 'table') run.printText(toText(run, data))
  else run.printRecord(data)
}

function toText(run: Run, data: Explanation): string {
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
