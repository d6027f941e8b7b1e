import { confirm } from '../ask.ts'
import type { Run } from '../run.ts'
import { unwrap } from '../unwrap.ts'

/** Lets the commissions of a batch go again. */
export async function cancel(run: Run, id: string, { yes }: { yes?: boolean }): Promise<undefined> {
  if (run.dryRun) return run.printDryRun('POST', `/admin/v1/payouts/${encodeURIComponent(id)}/cancel`)
  await confirm(run.context, `Cancel ${id}? Its commissions can be gathered anew.`, yes)
  const { data } = unwrap(
    await (await run.ownerClient()).POST('/admin/v1/payouts/{id}/cancel', { params: { path: { id } } }),
  )
  run.printRecord(data)
}
