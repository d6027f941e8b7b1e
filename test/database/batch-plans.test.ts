import { expect } from 'vitest'
import { linesOf, openBatch, report, resultOf, send } from '../payouts/payments.ts'
import { commissionRow } from '../payouts/rows.ts'
import { engine } from '../support/database.ts'
import { insertRows } from '../support/inspect.ts'
import { testWithNewShop as test } from '../support/test.ts'
import { openPostgresWork } from './plans/postgres-work.ts'
import { watchStatements } from './plans/statements.ts'

test.runIf(engine === 'postgres')(
  'with statistics from before a batch, its payment file and results read the commissions of their affiliates alone',
  async ({ server }) => {
    insertRows(
      server,
      'commissions',
      Array.from({ length: 450 }, (_, i) => commissionRow(server, { affiliateId: `other${i}` })),
    )
    server.sql.exec('analyze commissions')
    const { id } = await openBatch(server, 2)
    const { seen } = watchStatements(server)
    await send(server, 'october', id)
    const sent = (await linesOf(server, id)).data.filter(({ state }) => state === 'SENT')
    expect(await report(server, [resultOf(sent[0], 'SETTLED')])).toEqual(['settled'])
    const work = await openPostgresWork(server.url)
    try {
      const ofAffiliate = [...seen.values()].filter(({ sql }) => /"commissions".*"affiliateId" = /.test(sql))
      expect(ofAffiliate.length).toBeGreaterThan(1)
      for (const statement of ofAffiliate) expect((await work.workOf(statement)).rows, statement.sql).toBeLessThan(50)
    } finally {
      await work.close()
    }
  },
)
