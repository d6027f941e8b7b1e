import { type RawBuilder, sql } from 'kysely'
import type { AffiliateRow, GeoRuleRow, ProgramRow } from '../../database/tables.ts'
import type { ProgramFact } from '../../engine/facts.ts'

/** What an order is decided by: an affiliate, its program and the program's places. Without them, their columns are null. */
export type FactRow = Pick<AffiliateRow, 'id' | 'email' | 'status' | 'deletedAt' | 'campaignId'> & {
  programId: string | null
} & Pick<ProgramFact, 'commissionType' | 'rate' | 'cookieDurationDays'> &
  Pick<ProgramRow, 'autoApproveOrder' | 'lifetimeCommission' | 'termsVersion'> &
  Pick<GeoRuleRow, 'states' | 'cities' | 'postalPrefixes'> & { countries: string | null }

/** The columns of a {@link FactRow}, of {@link affiliatesWithPrograms}. */
export const factColumns: RawBuilder<unknown> = sql`a.id, a.email, a.status, a."deletedAt", a."campaignId",
  p.id as "programId", p."commissionType", p."defaultCommissionBps" as rate, p."cookieDurationDays",
  p."autoApproveOrder", p."lifetimeCommission", p."termsVersion",
  g.countries, g.states, g.cities, g."postalPrefixes"`

/** Affiliates `a` with their programs. */
export const affiliatesWithPrograms: RawBuilder<unknown> = sql`affiliates as a
  left join programs as p on p."shopId" = a."shopId" and p.id = a."campaignId"
  left join "geoRules" as g on g."shopId" = p."shopId" and g."programId" = p.id`
