/** Provisional: replaced by what the API description says. */
export interface KnownEvent {
  event: 'test'
  timestamp: string
  shop_id: string
  data: { test: true; message: string }
}

export const eventNames = [
  'affiliate.approved',
  'affiliate.rejected',
  'affiliate.status_changed',
  'commission.created',
  'test',
] as const
