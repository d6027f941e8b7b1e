import type { Trx } from '../db/database.ts'
import type { AffiliateRow, ProgramRow, ShopRow } from '../db/tables.ts'
import { codeKey } from '../engine/discount-code.ts'
import { emailKey } from '../engine/email.ts'
import type { AffiliateFact, Click, Facts, Matches, Order, OrderLine, ProgramFact } from '../engine/facts.ts'
import { findAffiliateByCode, findAffiliateBySlug, findAffiliatesById } from '../repositories/affiliates.ts'
import { findConnection, findProductConnections } from '../repositories/connections.ts'
import { findClick } from '../repositories/journey-clicks.ts'
import { findGeoRules, findProductRules } from '../repositories/program-rules.ts'
import { findPrograms } from '../repositories/programs.ts'
import { sessionClicks } from './session-clicks.ts'

/** Everything the engine needs to decide one order. Reads only; missing things are facts too. */
export async function gatherFacts(trx: Trx, shop: ShopRow, order: Order): Promise<Facts> {
  const matches = await gatherMatches(trx, shop.id, order)
  const affiliates = await findAffiliatesById(trx, shop.id, affiliateIds(matches))
  const programIds = [...new Set(affiliates.map((row) => row.campaignId))].filter((id) => id !== null)
  const programs = await findPrograms(trx, shop.id, programIds)
  return {
    order,
    settings: {
      precedence: JSON.parse(shop.attributionPrecedence),
      clickTouch: shop.clickTouch,
      taxWithholdingBps: shop.taxWithholdingBps,
      currency: shop.currency,
    },
    matches,
    affiliates: byId(affiliates.map(toAffiliateFact)),
    programs: byId(await Promise.all(programs.map((row) => toProgramFact(trx, row, order.lines)))),
  }
}

async function gatherMatches(trx: Trx, shopId: string, order: Order): Promise<Matches> {
  const idOf = (row: AffiliateRow | undefined) => row?.id ?? null
  const click = order.clickId ? await findClick(trx, shopId, order.clickId, order.orderAt) : undefined
  return {
    couponCode: order.couponCode ? idOf(await affiliateByCode(trx, shopId, order.couponCode)) : null,
    affiliateCode: order.affiliateCode ? idOf(await affiliateByCode(trx, shopId, order.affiliateCode)) : null,
    click: click ? toClick(click, order.clickId ?? click.clickId) : null,
    sessionClicks: order.sessionId
      ? (await sessionClicks(trx, shopId, { sessionId: order.sessionId, orderAt: order.orderAt })).map((row) =>
          toClick(row, row.clickId),
        )
      : [],
    ref: order.ref ? idOf(await affiliateByRef(trx, shopId, order.ref)) : null,
    customerId: order.customerId ? await findConnection(trx, shopId, 'customerId', order.customerId) : null,
    customerEmail: order.customerEmail
      ? await findConnection(trx, shopId, 'customerEmail', emailKey(order.customerEmail))
      : null,
    products: await findProductConnections(trx, shopId, order.lines),
  }
}

/** A code names an affiliate as discount code, else as slug. */
export async function affiliateByCode(trx: Trx, shopId: string, code: string): Promise<AffiliateRow | undefined> {
  const key = codeKey(code)
  return (await findAffiliateByCode(trx, shopId, key)) ?? (await findAffiliateBySlug(trx, shopId, key))
}

/** A link names an affiliate by slug, else by id. */
export async function affiliateByRef(trx: Trx, shopId: string, ref: string): Promise<AffiliateRow | undefined> {
  const bySlug = await findAffiliateBySlug(trx, shopId, codeKey(ref))
  return bySlug ?? (await findAffiliatesById(trx, shopId, [ref.trim()]))[0]
}

const affiliateIds = ({ click, sessionClicks, products, ...named }: Matches): string[] => {
  const ids = [
    ...Object.values(named),
    click?.affiliateId,
    ...sessionClicks.map((one) => one.affiliateId),
    ...Object.values(products),
  ]
  return [...new Set(ids)].filter((id): id is string => typeof id === 'string').sort()
}

const toClick = (row: { affiliateId: string | null; occurredAt: string }, clickId: string): Click => ({
  clickId,
  affiliateId: row.affiliateId,
  clickAt: row.occurredAt,
})

const toAffiliateFact = (row: AffiliateRow): AffiliateFact => ({
  id: row.id,
  email: row.email,
  status: row.status,
  archived: row.deletedAt !== null,
  programId: row.campaignId,
})

async function toProgramFact(trx: Trx, row: ProgramRow, lines: OrderLine[]): Promise<ProgramFact> {
  return {
    id: row.id,
    commissionType: row.commissionType,
    rate: row.defaultCommissionBps,
    cookieDurationDays: row.cookieDurationDays,
    autoApproveOrder: row.autoApproveOrder === 1,
    lifetimeCommission: row.lifetimeCommission === 1,
    productRules: await findProductRules(trx, { shopId: row.shopId, programId: row.id }, lines),
    geoRule: await findGeoRules(trx, row.shopId, row.id),
  }
}

const byId = <Fact extends { id: string }>(facts: Fact[]): Record<string, Fact> =>
  Object.fromEntries(facts.map((fact) => [fact.id, fact]))
