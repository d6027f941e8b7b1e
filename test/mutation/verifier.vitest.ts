import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const source = fileURLToPath(new URL('../../webhook-verifier/src/', import.meta.url))

/** The tests of the verifier but for its sizes, its packaging and other languages. */
export default defineConfig({
  resolve: {
    // The package's own link leads out of the copy that is mutated.
    alias: [
      { find: /^@referral\/webhook-verifier$/, replacement: `${source}index.ts` },
      { find: /^@referral\/webhook-verifier\/(\w+)$/, replacement: `${source}$1.ts` },
    ],
  },
  test: {
    include: ['test/webhook-verifier/{unwrap,parsed,vectors,adapters,testing,edges,streams}.test.ts'],
    testTimeout: 3000,
  },
})
