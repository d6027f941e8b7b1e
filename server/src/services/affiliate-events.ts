import type { components } from '../http/schema.d.ts'
import type { WebhookEvent } from './outbox.ts'

type Affiliate = components['schemas']['Affiliate']
type Status = Affiliate['status']

const isApproved = (status: Status) => status === 'APPROVED' || status === 'ACTIVE'

/** The events of a status change (section 6.1): the specific one first, then `affiliate.status_changed`; none without a change. */
export function statusEvents(affiliate: Affiliate, previousStatus: Status): WebhookEvent[] {
  const { status } = affiliate
  if (status === previousStatus) return []
  const data = { ...affiliate, previousStatus }
  const changed = { event: 'affiliate.status_changed', data }
  if (isApproved(status) && !isApproved(previousStatus)) return [{ event: 'affiliate.approved', data }, changed]
  return status === 'REJECTED' ? [{ event: 'affiliate.rejected', data }, changed] : [changed]
}
