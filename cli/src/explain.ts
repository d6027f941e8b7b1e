import type { components } from '@referral/sdk'
import { showMoney } from './money.ts'
import { plainText } from './output/text.ts'
import type { Run } from './run.ts'
import { dataOf } from './unwrap.ts'

type Explanation = components['schemas']['Explanation']

/** Why an order earned what it earned: prose for people, everything for machines. */
export async function explain(run: Run, externalOrderId: string): Promise<undefined> {
  const owner = await run.owner()
  const { data } = dataOf(
    await owner.GET('/admin/v1/orders/{externalOrderId}/explanation', { params: { path: { externalOrderId } } }),
  )
  if (run.style.format === 'table') run.text(toProse(run, data))
  else run.record(data)
}

function toProse(run: Run, data: Explanation): string {
  const { bold, dim, yellow } = run.style.palette
  const evidence = data.evidence.flatMap(({ kind, because, candidates }) => [
    `  ${kind}: ${plainText(because)}`,
    ...candidates.map((one) => dim(`    ${plainText(`${one.source} ${one.value}: ${one.because}`)}`)),
  ])
  const sums = data.arithmetic.map(
    ({ text, cents, currency }) => `  ${showMoney(cents, currency).padStart(16)}  ${plainText(text)}`,
  )
  const lines = [
    bold(plainText(data.summary)),
    '',
    'Evidence',
    ...evidence,
    ...(data.restriction ? ['', yellow(plainText(data.restriction.because))] : []),
    ...(sums.length ? ['', 'Amount', ...sums] : []),
    '',
    data.replay.identical
      ? 'Decided again today, it comes out the same.'
      : yellow('Decided again today, it comes out differently.'),
  ]
  return `${lines.join('\n')}\n`
}
