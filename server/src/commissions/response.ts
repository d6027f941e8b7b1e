import type { components } from '../contract/schema.d.ts'
import type { CommissionRow } from '../database/tables.ts'
import type { Decision } from '../engine/facts.ts'

/** A row as in openapi.yaml, without internal columns. */
export function toCommission(row: CommissionRow): components['schemas']['Commission'] {
  const { shopId, debtId, version, ...commission } = row
  return commission
}

/** A stored decision with the fields that decisions of earlier versions lack. */
export const toDecision = (decision: Decision, orderCurrency: string) => ({
  ...decision,
  currency: decision.currency ?? orderCurrency,
  groups: decision.groups.map((group) => ({ ...group, unpaidReasonCode: group.unpaidReasonCode ?? null })),
})
