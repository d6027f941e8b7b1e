const spellings = {
  // Loopback.
  loopback: `
    127.0.0.1 127.0.0.2 127.255.255.254 127.1 127.0.1 127.0.0.1. 127.1. 2130706433 0x7f000001 0x7f.1 0x7f.0.0.1
    0X7F.0X0.0X0.0X1 0177.0.0.1 0177.1 017700000001 00000177.0.0.1 0x0000007f.1 １２７.０.０.１ ①②⑦.⓪.⓪.① 127。0。0。1
    127．0．0．1 127｡0｡0｡1 %31%32%37.0.0.1 127.0.0.%31 %E2%91%A027.1`,
  // This network.
  thisNetwork: `
    0 0.0.0.0 0x0 00 0.0 0.0.0.1 0.1.2.3`,
  // Private.
  private: `
    10.0.0.1 10.255.255.255 167772161 0xa000001 012.0.0.1 172.16.0.1 172.31.255.255 192.168.0.1 192.168.1.254
    0xc0a80001 3232235521 0300.0250.0.1`,
  // Link-local, and the metadata services of virtual machines.
  linkLocalAndMetadata: `
    169.254.0.1 169.254.169.254 0xa9fea9fe 2852039166 0251.0376.0251.0376 169.254.43518 169.16689662 100.100.100.200
    192.0.0.192 168.63.129.16`,
  // Carrier-grade NAT, documentation, benchmarks, relays, multicast, reserved.
  special: `
    100.64.0.1 100.127.255.254 192.0.0.1 192.0.2.1 192.88.99.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1
    192.31.196.1 192.52.193.1 192.175.48.1 224.0.0.1 239.255.255.250 0xe0000001 240.0.0.1 255.255.255.255 4294967295`,
  // IPv6: loopback, unspecified, and IPv4 inside of it.
  sixWithFourInside: `
    [::1] [0:0:0:0:0:0:0:1] [0000:0000:0000:0000:0000:0000:0000:0001] [::] [::ffff:127.0.0.1] [::ffff:7f00:1]
    [::FFFF:7F00:0001] [0:0:0:0:0:ffff:7f00:1] [::ffff:10.0.0.1] [::ffff:169.254.169.254] [::ffff:a9fe:a9fe]
    [::ffff:8.8.8.8] [::127.0.0.1] [::7f00:1] [::169.254.169.254] [::a00:1] [::ffff:0:127.0.0.1]
    [64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b::a9fe:a9fe] [64:ff9b::808:808] [64:ff9b:1::7f00:1]
    [2002:7f00:1::] [2002:7f00:1::1] [2002:a9fe:a9fe::] [2002:a00:1::] [2002:c0a8:1::] [2002:808:808::] [2001::1]
    [2001:0:7f00:1::] [2001:0:4136:e378:8000:63bf:80ff:fffe]`,
  // IPv6: private, local, special and unallocated.
  six: `
    [fc00::1] [fd00::1] [fd00:ec2::254] [fd20:ce::254] [fe80::1] [febf::1] [fec0::1] [ff00::] [ff02::1] [100::1]
    [2001:db8::1] [2001:2::1] [2001:3::1] [2001:4:112::1] [2001:10::1] [2001:20::1] [2001:30::1] [2001:1ff::1]
    [2620:4f:8000::1] [3ffe::1] [3FFE:FFFF::1] [3fff::1] [3fff:1000::1] [3000::1] [2d00::1] [2420::1] [2001:c000::1]
    [2003:4000::1] [100:0:0:1::1] [5f00::1] [4000::1] [1::1] [e000::1] [fe80::1%25lo] [::1%25lo] [fe80::1%lo]
    [127.0.0.1] [::1 ::1`,
  // Internal names, and invalid names.
  names: `
    localhost LOCALHOST localhost. localhost.. a.localhost a.b.LocalHost. printer.local printer.local.
    kubernetes.default.svc.cluster.local metadata.google.internal x.internal. router.home.arpa home.arpa intranet
    metadata com ｌｏｃａｌｈｏｓｔ ⓛⓞⓒⓐⓛⓗⓞⓢⓣ local\u00adhost local\u200bhost %6c%6f%63alhost loc%61lhost a.ｌocal . ..
    a..b.example .example.com example.com.. 256.256.256.256 1.2.3.4.5 0x7g.1 a_b,c.example`,
}

/** Hosts that are not public, in every spelling a URL allows. */
export const hosts = Object.values(spellings).flatMap((group) => group.trim().split(/\s+/))

/** URLs that are rejected whatever their host is. */
export const urls = [
  'http://hooks.example.com/',
  'HTTP://hooks.example.com/',
  'http://8.8.8.8/',
  'ftp://hooks.example.com/',
  'file:///etc/passwd',
  'gopher://127.0.0.1/',
  'javascript:alert(1)',
  'data:text/plain,x',
  'ws://hooks.example.com/',
  'wss://hooks.example.com/',
  'blob:https://hooks.example.com/1',
  '//hooks.example.com/',
  'hooks.example.com',
  'https:hooks.example.com',
  'https:/hooks.example.com',
  'https:///hooks.example.com',
  'https:\\\\hooks.example.com',
  'https://hooks.example.com\\@127.0.0.1/',
  'https://127.0.0.1\\@hooks.example.com/',
  'https://user@hooks.example.com/',
  'https://user:word@hooks.example.com/',
  'https://:word@hooks.example.com/',
  'https://@hooks.example.com/',
  'https://:@hooks.example.com/',
  'https://hooks.example.com@127.0.0.1/',
  'https://127.0.0.1@hooks.example.com/',
  'https://hooks.example.com%2f@127.0.0.1/',
  'https://hooks.example.com:0/',
  'https://hooks.example.com:65536/',
  'https://hooks.example.com:-1/',
  'https://hooks.example.com:1e3/',
  'https://hooks example.com/',
  'https://hooks.exam\tple.com/',
  'https://hooks.exam\nple.com/',
  'https://hooks.example.com/\r\nHost: x',
  'https://',
  'https://?',
  'https://#x',
  'https://%00/',
  'https://hooks.example.com%00.example/',
  'https://127.0.0.1%2523/',
  'https://127.0.0.1#.example.com',
  'https://127.0.0.1?.example.com',
  'https://[::1]#.example.com',
  'h\u200bttps://hooks.example.com/',
]

/** Names that look public and resolve to something that is not, alone or among public addresses. */
export const rebound: Record<string, string[]> = {
  'loopback.example.com': ['127.0.0.1'],
  '127.0.0.1.wild.example': ['127.0.0.1'],
  'private.example.com': ['10.1.2.3'],
  'metadata.example.com': ['169.254.169.254'],
  'shared.example.com': ['100.64.0.1'],
  'zero.example.com': ['0.0.0.0'],
  'six.example.com': ['::1'],
  'unspecified.example.com': ['::'],
  'mapped.example.com': ['::ffff:127.0.0.1'],
  'compatible.example.com': ['::7f00:1'],
  'nat64.example.com': ['64:ff9b::7f00:1'],
  'sixtofour.example.com': ['2002:7f00:1::'],
  'ula.example.com': ['fd00::1'],
  'zone.example.com': ['fe80::1%lo'],
  'sixbone.example.com': ['3ffe::1'],
  'mixed-sixbone.example.com': ['2606:4700:4700::1111', '3ffe::1'],
  'mixed.example.com': ['8.8.8.8', '127.0.0.1'],
  'mixed-first.example.com': ['127.0.0.1', '8.8.8.8'],
  'mixed-six.example.com': ['8.8.8.8', '::1'],
  'mixed-last.example.com': ['2606:4700:4700::1111', '8.8.8.8', '10.0.0.1'],
  'odd.example.com': ['127.1'],
  'odder.example.com': ['8.8.8.8', '0x7f000001'],
}

/** URLs that must remain valid. */
export const fine = [
  'https://hooks.example.com',
  'https://hooks.example.com/a?b=c#d',
  'HTTPS://Hooks.Example.COM/',
  'https://hooks.example.com./',
  'https://hooks.example.com:8443/x',
  'https://8.8.8.8/',
  'https://1.1.1.1:8443/',
  'https://134744072/',
  'https://172.32.0.1/',
  'https://100.128.0.1/',
  'https://192.0.1.1/',
  'https://[2606:4700:4700::1111]/',
  'https://[2a00:1450:4001:80b::200e]:444/',
  'https://bücher.example/',
  'https://xn--bcher-kva.example/',
  'https://_dmarc.example.com/',
  'https://localhost.example.com/',
  'https://internal.example.com/',
  'https://hooks.example.com/@user',
  'https://unknown.example.org/',
]
