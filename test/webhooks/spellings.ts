import { BlockList } from 'node:net'
import fc from 'fast-check'

/** The special ranges of the IPv4 registry, independent of the code under test. */
const SPECIAL_FOUR = `
  0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24
  192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4
  240.0.0.0/4 168.63.129.16/32`
/** What the registries of 2000::/3 have, as first and last group pairs, and what is special within it. */
const ALLOCATED_SIX = `
  2001:200-2001:fff 2001:1200-2001:4dff 2001:5000-2001:5fff 2001:8000-2001:bfff 2003:0-2003:3fff 2400:0-241f:ffff
  2600:0-260f:ffff 2610:0-2610:1ff 2620:0-2620:1ff 2630:0-263f:ffff 2800:0-280f:ffff 2a00:0-2a1f:ffff 2c00:0-2c0f:ffff`
const SPECIAL_SIX = '2001:db8::/32 2620:4f:8000::/48'

const ranges = (text: string) =>
  text
    .trim()
    .split(/\s+/)
    .map((one) => one.split('/') as [string, string])
const listOf = (text: string, family: 'ipv4' | 'ipv6') => {
  const list = new BlockList()
  for (const [address, bits] of ranges(text)) list.addSubnet(address, Number(bits), family)
  return list
}

const four = listOf(SPECIAL_FOUR, 'ipv4')
const six = listOf(SPECIAL_SIX, 'ipv6')
const global = new BlockList()
for (const range of ALLOCATED_SIX.trim().split(/\s+/)) {
  const [first, last] = range.split('-')
  global.addRange(`${first}::`, `${last}:ffff:ffff:ffff:ffff:ffff:ffff`, 'ipv6')
}

/** A second check of whether an address is public, by Node's own lists. */
export const isEverybodys = (address: string): boolean =>
  address.includes(':') ? global.check(address, 'ipv6') && !six.check(address, 'ipv6') : !four.check(address, 'ipv4')

const dotted = (number: number) => [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join('.')
const numberOf = (address: string) => address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)

/** IPv4 addresses: any, those at the edges of the special ranges, and those inside of them. */
export const anyFour: fc.Arbitrary<string> = fc.oneof(
  fc.nat({ max: 2 ** 32 - 1 }).map(dotted),
  fc
    .tuple(fc.constantFrom(...ranges(SPECIAL_FOUR)), fc.constantFrom(-1, 0, 1), fc.boolean())
    .map(([[address, bits], by, end]) => {
      const size = 2 ** (32 - Number(bits))
      return dotted((numberOf(address) + (end ? size - 1 : 0) + by + 2 ** 32) % 2 ** 32)
    }),
  insideFour(),
)

/** IPv4 addresses that are not allowed as targets. */
export function insideFour(): fc.Arbitrary<string> {
  return fc
    .tuple(fc.constantFrom(...ranges(SPECIAL_FOUR)), fc.nat({ max: 2 ** 32 - 1 }))
    .map(([[address, bits], n]) => dotted(numberOf(address) + (n % 2 ** (32 - Number(bits)))))
}

const hex = (n: number) => n.toString(16)
export const anySix: fc.Arbitrary<string> = fc
  .tuple(
    fc.oneof(
      fc.constantFrom(0x2000, 0x2001, 0x2002, 0x2003, 0x2620, 0x3fff, 0x3ffe, 0x4000, 0xfc00, 0xfe80, 0xff02, 0),
      fc.constantFrom(0x2400, 0x241f, 0x2420, 0x260f, 0x2610, 0x2630, 0x2640, 0x280f, 0x2810, 0x2a1f, 0x2a20, 0x2c10),
      fc.integer({ min: 0x2000, max: 0x3fff }),
      fc.nat({ max: 0xffff }),
    ),
    fc.oneof(
      fc.constantFrom(0, 0xdb8, 0x4f, 0x1ff, 0x200, 0x0fff, 0x1000, 0x11ff, 0x3fff, 0x4000, 0x4e00, 0x6000, 0xc000),
      fc.nat({ max: 0xffff }),
    ),
    fc.oneof(fc.constantFrom(0x8000, 0), fc.nat({ max: 0xffff })),
    fc.array(fc.nat({ max: 0xffff }), { minLength: 5, maxLength: 5 }),
  )
  .map(([a, b, c, rest]) => [a, b, c, ...rest].map(hex).join(':'))

type Write = (number: number) => string
const NUMBERS: Write[] = [
  String,
  (n) => `0x${hex(n)}`,
  (n) => `0X${hex(n).toUpperCase()}`,
  (n) => `0${n.toString(8)}`,
  (n) => `000${n.toString(8)}`,
  (n) => `0x000${hex(n)}`,
]

/** An IPv4 address in one of the ways that URLs read: one to four parts, three bases, other digits and dots. */
export const spelledFour = (addresses: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .record({
      address: addresses,
      parts: fc.integer({ min: 1, max: 4 }),
      writes: fc.array(fc.constantFrom(...NUMBERS), { minLength: 4, maxLength: 4 }),
      dress: fc.constantFrom(...DRESSES),
    })
    .map(({ address, parts, writes, dress }) => {
      const bytes = address.split('.').map(Number)
      const tail = bytes.slice(parts - 1).reduce((sum, byte) => sum * 256 + byte, 0)
      const numbers = [...bytes.slice(0, parts - 1), tail]
      return dress(numbers.map((number, i) => writes[i]!(number)).join('.'))
    })

const wide = (text: string) => text.replace(/[0-9a-z]/gi, (one) => String.fromCharCode(one.charCodeAt(0) + 0xfee0))
const DRESSES: ((host: string) => string)[] = [
  (host) => host,
  (host) => host,
  (host) => `${host}.`,
  wide,
  (host) => host.replaceAll('.', '。'),
  (host) => host.replaceAll('.', '．'),
  (host) => host.replace(/\d/, (one) => `%3${one}`),
]

/** An IPv6 address that carries an IPv4 one. */
export const carrying = (addresses: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(addresses, fc.constantFrom(...CARRIERS), fc.boolean()).map(([address, carry, isUpper]) => {
    const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
    const text = `[${carry(address, [a * 256 + b, c * 256 + d])}]`
    return isUpper ? text.toUpperCase() : text
  })

type Carry = (dotted: string, groups: [number, number]) => string
const CARRIERS: Carry[] = [
  (text) => `::ffff:${text}`,
  (_, [high, low]) => `::ffff:${hex(high)}:${hex(low)}`,
  (text) => `0:0:0:0:0:ffff:${text}`,
  (text) => `::${text}`,
  (text) => `::ffff:0:${text}`,
  (text) => `64:ff9b::${text}`,
  (_, [high, low]) => `64:ff9b:1::${hex(high)}:${hex(low)}`,
  (_, [high, low]) => `2002:${hex(high)}:${hex(low)}::1`,
  (_, [high, low]) => `2001:0:808:808:0:0:${hex(high ^ 0xffff)}:${hex(low ^ 0xffff)}`,
]
