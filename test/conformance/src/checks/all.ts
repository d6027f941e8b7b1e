import type { Check, Group } from '../check.ts'
import { accounts } from './accounts.ts'
import { affiliates } from './affiliates.ts'
import { aliases } from './aliases.ts'
import { amounts } from './amounts.ts'
import { attribution } from './attribution.ts'
import { auth, keys, scopeRules } from './auth.ts'
import { clicks } from './clicks.ts'
import { commissions } from './commissions.ts'
import { connections } from './connections.ts'
import { conversions } from './conversions.ts'
import { coupons } from './coupons.ts'
import { customers } from './customers.ts'
import { deliveries } from './deliveries.ts'
import { feed } from './feed.ts'
import { always, http } from './http.ts'
import { idempotency } from './idempotency.ts'
import { identity } from './identity.ts'
import { isolation } from './isolation.ts'
import { limits, ownerLimits } from './limits.ts'
import { lists } from './lists.ts'
import { moderation } from './moderation.ts'
import { orders } from './orders.ts'
import { ownerWebhooks } from './owner-deliveries.ts'
import { payments } from './payments.ts'
import { payouts } from './payouts.ts'
import { programs } from './programs.ts'
import { races } from './races.ts'
import { records } from './records.ts'
import { refunds } from './refunds.ts'
import { analytics, backtests, journeys } from './reports.ts'
import { ownerSchemas, schemas, siteSchemas } from './schema.ts'
import { settings } from './settings.ts'
import { stores } from './stores.ts'
import { subscriptions } from './subscriptions.ts'
import { terms } from './terms.ts'
import { tokens } from './tokens.ts'
import { tracking } from './tracking.ts'

/** All topics. Rules about every response are last. */
export const groups: readonly Group[] = [
  http,
  auth,
  limits,
  lists,
  affiliates,
  aliases,
  tokens,
  programs,
  terms,
  coupons,
  conversions,
  commissions,
  amounts,
  attribution,
  clicks,
  identity,
  customers,
  idempotency,
  races,
  refunds,
  orders,
  payouts,
  journeys,
  analytics,
  isolation,
  subscriptions,
  feed,
  deliveries,
  keys,
  scopeRules,
  accounts,
  moderation,
  payments,
  connections,
  records,
  backtests,
  ownerWebhooks,
  settings,
  tracking,
  stores,
  ownerLimits,
  schemas,
  ownerSchemas,
  siteSchemas,
  always,
]

/** Every rule of the contract. */
export const checks: readonly Check[] = groups.flatMap((group) => group.checks)
