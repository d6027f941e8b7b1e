import type { AffiliateRow, CommissionRow } from '../db/tables.ts'
import type { Decision } from '../engine/facts.ts'
import type { components } from '../http/schema.d.ts'
import type { Page } from '../repositories/page.ts'
import type { ProgramView } from '../repositories/programs.ts'

type Schemas = components['schemas']

/** Rows as openapi.yaml shows them: what only the server needs is left out, 0 and 1 become booleans. */
export function toAffiliate(row: AffiliateRow): Schemas['Affiliate'] {
  const { shopId, emailKey, codeKey, searchText, version, ...affiliate } = row
  return affiliate
}

export function toProgram(row: ProgramView): Schemas['Program'] {
  const { shopId, version, ...program } = row
  return {
    ...program,
    autoApproveAffiliate: row.autoApproveAffiliate === 1,
    autoApproveOrder: row.autoApproveOrder === 1,
    lifetimeCommission: row.lifetimeCommission === 1,
    discountEnabled: row.discountEnabled === 1,
    isDefault: row.isDefault === 1,
  }
}

export function toCommission(row: CommissionRow): Schemas['Commission'] {
  const { shopId, debtId, version, ...commission } = row
  return commission
}

/** A decision with the fields that decisions of earlier versions lack. */
export const toDecision = (decision: Decision, orderCurrency: string) => ({
  ...decision,
  currency: decision.currency ?? orderCurrency,
  groups: decision.groups.map((group) => ({ ...group, unpaidReasonCode: group.unpaidReasonCode ?? null })),
})

/** A page of rows as a page of wire objects. */
export const mapPage = <Row, Item>({ data, pagination }: Page<Row>, map: (row: Row) => Item): Page<Item> => ({
  data: data.map(map),
  pagination,
})
