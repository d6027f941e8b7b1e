// A separate process with the environment of one engine. Fills the shop of the heavy requests with as many commissions and
// affiliates as its arguments say, and writes how to reach it into a file.
import { writeFileSync } from 'node:fs'
import { operatorContext } from '../../../server/src/domains/accounts/shops.ts'
import { create as createUser } from '../../../server/src/domains/accounts/users.ts'
import { createPortalLink } from '../../../server/src/domains/affiliates/portal-link.ts'
import { fillLargeShop, LARGE } from '../../attack/large-shop.ts'
import { insertKeys } from '../../support/keys.ts'
import { ownerServer } from '../../support/owner.ts'
import setUpPostgres from '../../support/postgres.ts'

/** How a benchmark reaches the shop. */
export interface LargeShop {
  url: string
  shopId: string
  /** Of users with the role `OWNER`. Each has its own rate limit. */
  tokens: string[]
  keys: string[]
  /** The path of the page of the affiliate with the most commissions. */
  ownPage: string
}

const USERS = 10

const [file = '', commissions = '', affiliates = ''] = process.argv.slice(2)
if (process.env.TEST_ENGINE === 'postgres') await setUpPostgres()
const server = await ownerServer()
const { shopId } = server.shop
await fillLargeShop(server, { commissions: Number(commissions), affiliates: Number(affiliates) })
// The copied batches have the totals of the first.
server.sql.exec(`update "payoutBatches" set commissions = s.n, "commissionCents" = s.cents, "netPayableCents" = s.cents, affiliates = s.affiliates
  from (select "payoutBatchId" as id, count(*) as n, sum("commissionAmountCents") as cents, count(distinct "affiliateId") as affiliates
    from commissions where "payoutBatchId" is not null group by 1) s
  where s.id = "payoutBatches".id and s.n > 1`)
// Deliveries would share the processor with what is measured.
server.sql.exec(`update subscriptions set "maxInFlight" = 0`)
const ctx = await operatorContext(server.deps, shopId)
const tokens: string[] = []
for (let i = 0; i < USERS; i++)
  tokens.push((await createUser(ctx, { email: `owner${i}@shop.example`, role: 'OWNER' })).token)
const keys = await insertKeys(ctx, USERS)
// The clock of the measured server.
server.clock.ms = Date.now()
const { path } = await createPortalLink(ctx, LARGE.affiliate, 168)
await server.db.close()
// With the last connection, SQLite moves its log into the database.
server.sql.close()
const shop: LargeShop = { url: server.url, shopId, tokens, keys, ownPage: path }
writeFileSync(file, JSON.stringify(shop))
// Without `server.close`, which would remove the database.
process.exit()
