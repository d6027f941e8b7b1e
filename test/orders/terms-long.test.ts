// Full: it runs long random histories.
import { test } from '../support/test.ts'
import { checkHistories } from './support/terms-history.ts'

const RUNS = Number(process.env.TERMS_RUNS ?? (process.env.TEST_ENGINE === 'postgres' ? 30 : 300))

test(
  'long: histories of orders, customers, refunds and terms agree with a model',
  ({ server }) => checkHistories(server, RUNS, Number(process.env.TERMS_SEED)),
  3_600_000,
)
