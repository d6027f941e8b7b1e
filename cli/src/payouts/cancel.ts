import { confirm } from '../ask.ts'
import type { Run } from '../run.ts'
import { dataOf } from '../unwrap.ts'

/** Lets the commissions of a batch go again. */
export async function cancel(run: Run, id: string, { yes }: { yes?: boolean }): Promise<undefined> {
  if (run.dryRun) return run.wouldSend('POST', `/admin/v1/payouts/${encodeURIComponent(id)}/cancel`)
  await confirm(run.world, `Cancel ${id}? Its commissions can be gathered anew.`, yes)
  const { data } = dataOf(await (await run.owner()).POST('/admin/v1/payouts/{id}/cancel', { params: { path: { id } } }))
  run.record(data)
}
