import { expect } from 'vitest'
import { check, recount } from '../../server/src/operator/check.ts'
import { ID } from '../contract/fixture.ts'
import { test } from '../support/test.ts'

test('no problems after normal use', async ({ exampleServer: server }) => {
  expect(await check(server.deps)).toMatchObject({ ok: true, problems: [], audit: { breaks: [] } })
})

const broken: [what: string, breakIt: string, mendIt: string, problem: RegExp][] = [
  [
    'a total that is not the sum of its rows',
    `update "payoutBatches" set "commissionCents" = "commissionCents" + 1, "netPayableCents" = "netPayableCents" + 1`,
    `update "payoutBatches" set "commissionCents" = "commissionCents" - 1, "netPayableCents" = "netPayableCents" - 1`,
    /^Payout batch bat_01KAH0000000000000000000B1 stores a net total of 1441 cents, but its commissions add up to 1440/,
  ],
  [
    'an amount that no number holds exactly',
    `update commissions set "commissionAmountCents" = 9007199254740993 where id = '${ID.commission}'`,
    `update commissions set "commissionAmountCents" = 1440 where id = '${ID.commission}'`,
    /stores a net total of 1440 cents, but its commissions add up to 9007199254740993\./,
  ],
  [
    'a commission that left its batch',
    `update commissions set "payoutBatchId" = null where id = '${ID.commission}'`,
    `update commissions set "payoutBatchId" = '${ID.batch}' where id = '${ID.commission}'`,
    /stores a net total of 1440 cents, but its commissions add up to 0/,
  ],
  [
    'a running total that is not the sum of its refunds',
    `update "refundTotals" set "goodsCents" = 5`,
    `update "refundTotals" set "goodsCents" = 0`,
    /^The refunds of commission com_01KAH0000000000000000000C1 add up to 0 cents of goods, but 5 are stored/,
  ],
  [
    'a carried debt that lost one of its rows',
    `update commissions set "debtId" = id where id = '${ID.commission}'`,
    `update commissions set "debtId" = null`,
    /^The carried debt com_01KAH0000000000000000000C1 does not consist of two commissions that add up to 0/,
  ],
  [
    'an affiliate that is gone',
    `update commissions set "affiliateId" = 'aff_none' where id = '${ID.commission}'`,
    `update commissions set "affiliateId" = '${ID.affiliate}' where id = '${ID.commission}'`,
    /^1 rows of commissions reference a affiliateId that does not exist/,
  ],
  [
    "another shop's program",
    `update programs set "shopId" = 'shp_other'`,
    `update programs set "shopId" = (select id from shops)`,
    /rows of affiliates reference a campaignId/,
  ],
  [
    'the commission of another order',
    `update orders set "commissionId" = '${ID.commission}' where "orderId" = 'api:1000-2'`,
    `update orders set "commissionId" = (select id from commissions where "orderId" = 'api:1000-2') where "orderId" = 'api:1000-2'`,
    /^1 orders reference the commission of another order/,
  ],
  [
    'a count that is not how many rows there are',
    `update "rowCounts" set rows = rows + 1 where list = 'affiliates'`,
    `update "rowCounts" set rows = rows - 1 where list = 'affiliates'`,
    /rows of affiliates, but \d+ are counted/,
  ],
  [
    'a sum that is not the sum of its rows',
    `update "rowCounts" set "commissionCents" = "commissionCents" + 1 where scope = '${ID.affiliate}'`,
    `update "rowCounts" set "commissionCents" = "commissionCents" - 1 where scope = '${ID.affiliate}'`,
    /^Shop shp_\w+ stores wrong sums of \w+ \(aff_\w+\); repair with check --recount/,
  ],
  [
    'an audit row that was changed',
    `update audits set actor = actor || 'x' where seq = 2`,
    `update audits set actor = replace(actor, 'x', '') where seq = 2`,
    /is broken at row 2: the row was changed after it was written/,
  ],
  [
    'an audit whose last row was cut off',
    `update "auditHeads" set seq = seq + 1`,
    `update "auditHeads" set seq = seq - 1`,
    /^The audit of shop shp_\w+ ends at row (\d+), but has row \d+ stored as its head, or another hash/,
  ],
  [
    'another hash at the head of an audit',
    `update "auditHeads" set hash = hash || 'x'`,
    `update "auditHeads" set hash = replace(hash, 'x', '')`,
    /^The audit of shop shp_\w+ ends at row (\d+), but has row \1 stored as its head, or another hash/,
  ],
  [
    'an audit without a head',
    `update "auditHeads" set "shopId" = 'x' || "shopId"`,
    `update "auditHeads" set "shopId" = substr("shopId", 2)`,
    /^The audit of shop shp_\w+ ends at row \d+, but has no stored head/,
  ],
]

test.for(broken)(
  '%s is reported, and nothing else',
  async ([_what, breakIt, mendIt, problem], { exampleServer: server }) => {
    server.sql.exec(breakIt)
    const { ok, problems } = await check(server.deps)
    server.sql.exec(mendIt)
    expect(ok).toBe(false)
    expect(
      problems.some((line) => problem.test(line)),
      problems.join('\n'),
    ).toBe(true)
    expect(await check(server.deps)).toMatchObject({ ok: true, problems: [] })
  },
)

test('--recount corrects wrong counts', async ({ exampleServer: server }) => {
  const sums = 'orders, "goodsCents", "commissionCents", "paidCents"'
  const columns = `"shopId", list, scope, "programId", status, currency, "orderCurrency", rows, ${sums}`
  const counts = () =>
    server.sql.prepare(`select ${columns} from "rowCounts" where rows > 0 order by 1, 2, 3, 4, 5, 6, 7`).all()
  const before = counts()
  server.sql.exec(`update "rowCounts" set rows = rows + 1, "goodsCents" = "goodsCents" + 1`)
  expect((await check(server.deps)).problems.join()).toContain('check --recount')
  await recount({ databaseUrl: server.url })
  expect(await check(server.deps)).toMatchObject({ ok: true, problems: [] })
  expect(counts()).toEqual(before)
})
