import { expect } from 'vitest'
import { test } from '../support/test.ts'
import { checkYear } from './saas-year.ts'

test('a year of a small SaaS program is paid to the cent', async ({ server }) => {
  const { batches, adjustments } = await checkYear(server, { affiliates: 5, customers: 40, seed: 38 })
  expect(batches).toBeGreaterThan(10)
  expect(adjustments).toBeGreaterThan(0)
}, 300_000)
