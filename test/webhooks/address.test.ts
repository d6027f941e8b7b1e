import { describe, expect, test } from 'vitest'
import { isPublicAddress } from '../../server/src/domains/webhooks/delivery/public-url.ts'

/** The special-purpose registries of IANA, with the first and the last address of each range. */
const SPECIAL_FOUR = {
  '0.0.0.0/8 this network': ['0.0.0.0', '0.255.255.255'],
  '10.0.0.0/8 private use': ['10.0.0.0', '10.255.255.255'],
  '100.64.0.0/10 shared address space': ['100.64.0.0', '100.127.255.255'],
  '127.0.0.0/8 loopback': ['127.0.0.0', '127.255.255.255'],
  '168.63.129.16/32 host agent of a cloud provider': ['168.63.129.16'],
  '169.254.0.0/16 link local': ['169.254.0.0', '169.254.169.254', '169.254.255.255'],
  '172.16.0.0/12 private use': ['172.16.0.0', '172.31.255.255'],
  '192.0.0.0/24 IETF protocol assignments': ['192.0.0.0', '192.0.0.8', '192.0.0.9', '192.0.0.10', '192.0.0.255'],
  '192.0.2.0/24 documentation': ['192.0.2.0', '192.0.2.255'],
  '192.31.196.0/24 AS112-v4': ['192.31.196.0', '192.31.196.255'],
  '192.52.193.0/24 AMT': ['192.52.193.0', '192.52.193.255'],
  '192.88.99.0/24 6to4 relay anycast': ['192.88.99.0', '192.88.99.2', '192.88.99.255'],
  '192.168.0.0/16 private use': ['192.168.0.0', '192.168.255.255'],
  '192.175.48.0/24 direct delegation AS112': ['192.175.48.0', '192.175.48.255'],
  '198.18.0.0/15 benchmarking': ['198.18.0.0', '198.19.255.255'],
  '198.51.100.0/24 documentation': ['198.51.100.0', '198.51.100.255'],
  '203.0.113.0/24 documentation': ['203.0.113.0', '203.0.113.255'],
  '224.0.0.0/4 multicast': ['224.0.0.0', '239.255.255.255'],
  '240.0.0.0/4 reserved': ['240.0.0.0', '255.255.255.254'],
  '255.255.255.255/32 limited broadcast': ['255.255.255.255'],
}

const SPECIAL_SIX = {
  '::/128 unspecified': ['::'],
  '::1/128 loopback': ['::1'],
  '::/96 IPv4-compatible': ['::7f00:1', '::808:808', '::ffff:ffff'],
  '::ffff:0:0/96 IPv4-mapped': ['::ffff:7f00:1', '::ffff:808:808', '::ffff:8.8.8.8'],
  '::ffff:0:0:0/96 IPv4-translated': ['::ffff:0:7f00:1', '::ffff:0:808:808'],
  '64:ff9b::/96 IPv4-IPv6 translation': ['64:ff9b::', '64:ff9b::a00:1', '64:ff9b::ffff:ffff'],
  '64:ff9b:1::/48 local IPv4-IPv6 translation': ['64:ff9b:1::', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff'],
  '100::/64 discard only': ['100::', '100::ffff:ffff:ffff:ffff'],
  '100:0:0:1::/64 dummy prefix': ['100:0:0:1::', '100::1:ffff:ffff:ffff:ffff'],
  '2001::/23 IETF protocol assignments': ['2001:100::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff'],
  '2001::/32 Teredo': ['2001::', '2001:0:ffff:ffff:ffff:ffff:ffff:ffff'],
  '2001:1::1/128 PCP anycast': ['2001:1::1'],
  '2001:1::2/128 TURN anycast': ['2001:1::2'],
  '2001:1::3/128 DNS-SD service registration anycast': ['2001:1::3'],
  '2001:2::/48 benchmarking': ['2001:2::', '2001:2:0:ffff:ffff:ffff:ffff:ffff'],
  '2001:3::/32 AMT': ['2001:3::', '2001:3:ffff:ffff:ffff:ffff:ffff:ffff'],
  '2001:4:112::/48 AS112-v6': ['2001:4:112::', '2001:4:112:ffff:ffff:ffff:ffff:ffff'],
  '2001:10::/28 deprecated ORCHID': ['2001:10::', '2001:1f:ffff:ffff:ffff:ffff:ffff:ffff'],
  '2001:20::/28 ORCHIDv2': ['2001:20::', '2001:2f:ffff:ffff:ffff:ffff:ffff:ffff'],
  '2001:30::/28 drone remote id': ['2001:30::', '2001:3f:ffff:ffff:ffff:ffff:ffff:ffff'],
  '2001:db8::/32 documentation': ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
  '2002::/16 6to4 of loopback': ['2002:7f00:1::', '2002:7f00:1::1'],
  '2002::/16 6to4 of private addresses': ['2002:a00:1::1', '2002:c0a8:101::1', '2002:ac10:1::1'],
  '2002::/16 6to4 of link local and public addresses': ['2002:a9fe:a9fe::', '2002:808:808::', '2002:ffff:ffff::1'],
  '2620:4f:8000::/48 direct delegation AS112': ['2620:4f:8000::', '2620:4f:8000:ffff:ffff:ffff:ffff:ffff'],
  '3ffe::/16 former 6bone': ['3ffe::', '3ffe::1', '3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  '3fff::/20 documentation': ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff'],
  '5f00::/16 segment routing': ['5f00::', '5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  'fc00::/7 unique local': ['fc00::', 'fd00:ec2::254', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  'fe80::/10 link local': ['fe80::', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  'fec0::/10 deprecated site local': ['fec0::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  'ff00::/8 multicast': ['ff00::', 'ff02::1', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
}

/** Global unicast of no registry. */
const UNALLOCATED = {
  'before the first allocation': ['2000::', '2000::1', '2000:ffff::1'],
  'gaps of 2001::/16': ['2001:1000::1', '2001:11ff::1', '2001:4e00::1', '2001:6000::1', '2001:7fff::1', '2001:c000::1'],
  'after 2003::/18': ['2003:4000::1', '2004::1', '2100::1', '23ff::1'],
  'between the registries': ['2420::1', '2500::1', '2612::1', '2622::1', '2640::1', '2700::1', '2810::1', '2900::1'],
  'after the registries': ['2a20::1', '2b00::1', '2c10::1', '2d00::1', '2e00::1', '2fff::1'],
  '3000::/4 reserved': ['3000::1', '3800::1', '3ffd:ffff::1', '3fff:1000::1', '3fff:ffff::1'],
  'outside 2000::/3': ['1fff::1', '4000::1', '5eff::1', '5f01::1', '8000::1', 'e000::1', 'fbff::1'],
}

describe.each(Object.entries({ ...SPECIAL_FOUR, ...SPECIAL_SIX, ...UNALLOCATED }))('%s', (_, addresses) => {
  test.each(addresses)('%s is not public', (address) => expect(isPublicAddress(address)).toBe(false))
})

test.each([
  ...['1.0.0.1', '8.8.8.8', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255'],
  ...['128.0.0.0', '168.63.129.15', '168.63.129.17', '169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0'],
  ...['191.255.255.255', '192.0.1.0', '192.0.1.255', '192.0.3.0', '192.88.98.255', '192.88.100.0', '192.167.255.255'],
  ...['192.169.0.0', '198.17.255.255', '198.20.0.0', '198.51.99.255', '198.51.101.0', '203.0.112.255', '203.0.114.0'],
  '223.255.255.255',
])('%s is public', (address) => expect(isPublicAddress(address)).toBe(true))

test.each([
  ...['2001:200::1', '2001:4860:4860::8888', '2001:db7:ffff::1', '2001:db9::1', '2001:5fff::1', '2001:bfff::1'],
  ...['2003::1', '2003:3fff::1', '2400:cb00::1', '241f:ffff::1', '2606:4700:4700::1111', '260f:ffff::1', '2610:1::1'],
  ...['2620:1::1', '2620:4f:7fff::1', '2620:4f:8001::1', '2630::1', '2804::1', '2a00:1450:4001:80b::200e', '2a1f::1'],
  '2c0f:f248::1',
])('%s is public', (address) => expect(isPublicAddress(address)).toBe(true))
