import { test } from '../support/test.ts'
import { checkHistories } from './support/terms-history.ts'

test('histories of orders, customers, refunds and terms agree with a model', ({ server }) => checkHistories(server, 12))
