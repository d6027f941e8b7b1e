// Full: it runs guarantees of test:long in short form.
import { expect, test } from 'vitest'
import { engine } from '../support/database.ts'
import { guarantee } from './guarantees/payouts-kill.ts'

test(`${guarantee.title} (short version)`, { timeout: 120_000 }, async () => {
  expect(await guarantee.run({ engine, scale: 0.05 })).toBeTypeOf('string')
})
