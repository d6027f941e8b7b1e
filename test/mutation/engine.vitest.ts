import { defineConfig } from 'vitest/config'

/** The tests of the engine alone: none of them needs a server. */
export default defineConfig({
  test: {
    include: ['test/engine/**/*.test.ts', 'test/analytics/sums.test.ts'],
    setupFiles: ['test/mutation/steady.ts'],
  },
})
