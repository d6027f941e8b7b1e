import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isPublicAddress, readTarget } from '../../server/src/domains/webhooks/delivery/public-url.ts'
import { anyFour, anySix, carrying, insideFour, isEverybodys, spelledFour } from './spellings.ts'

const RUNS = { numRuns: 1500, seed: 20261121 }
const isTaken = (host: string) => readTarget(`https://${host}/hook`, []) !== undefined

test('an address is public only in the ranges the registries list as public', () => {
  for (const addresses of [anyFour, anySix]) {
    fc.assert(
      fc.property(addresses, (address) => {
        expect([address, isPublicAddress(address)]).toEqual([address, isEverybodys(address)])
      }),
      RUNS,
    )
  }
})

test('a private address is rejected in every spelling', () => {
  for (const hosts of [spelledFour(insideFour()), carrying(insideFour()), carrying(anyFour)]) {
    fc.assert(
      fc.property(hosts, (host) => {
        expect([host, isTaken(host)]).toEqual([host, false])
      }),
      RUNS,
    )
  }
})

test('every spelling of an address is treated as that address', () => {
  fc.assert(
    fc.property(spelledFour(anyFour), (host) => {
      const url = `https://${host}/hook`
      const meant = URL.canParse(url) && isEverybodys(new URL(url).hostname)
      expect([host, isTaken(host)]).toEqual([host, meant])
    }),
    RUNS,
  )
})
