import type { components } from '@referral/sdk'
import { formatMoney } from './money.ts'
import { sanitizeText } from './output/text.ts'
import type { Run } from './run.ts'
import { unwrap } from './unwrap.ts'

type Explanation = components['schemas']['Explanation']

/** Why an order earned what it earned: prose for people, everything for machines. */
export async function explain(run: Run, externalOrderId: string): Promise<undefined> {
  const owner = await run.ownerClient()
  const { data } = unwrap(
    await owner.GET('/admin/v1/orders/{externalOrderId}/explanation', { params: { path: { externalOrderId } } }),
  )
  if (run.style.format === 'table') run.printText(toProse(run, data))
  else run.printRecord(data)
}

function toProse(run: Run, data: Explanation): string {
  const { bold, dim, yellow } = run.style.palette
  const evidence = data.evidence.flatMap(({ kind, because, candidates }) => [
    `  ${kind}: ${sanitizeText(because)}`,
    ...candidates.map((one) => dim(`    ${sanitizeText(`${one.source} ${one.value}: ${one.because}`)}`)),
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
      ? 'Decided again today, it comes out the same.'
      : yellow('Decided again today, it comes out differently.'),
  ]
  return `${lines.join('\n')}\n`
}
