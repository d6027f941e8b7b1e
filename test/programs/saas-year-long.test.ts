// Full: it takes 600 customers through a year.
import { expect } from 'vitest'
import { test } from '../support/test.ts'
import { checkYear } from './saas-year.ts'

// SQLite only: the year is about money, and its short version runs on both databases.

const SEED = Number(process.env.YEAR_SEED ?? 38)

test('long: a year of a SaaS program is paid to the cent', async ({ server }) => {
  const { orders, ...compared } = await checkYear(server, { affiliates: 40, customers: 600, seed: SEED })
  expect(orders).toBeGreaterThan(2000)
  console.info(`Seed ${SEED}: ${orders} orders, ${JSON.stringify(compared)}`)
}, 1_200_000)
