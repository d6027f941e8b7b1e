import fc from 'fast-check'

/** Values that are known to break servers. */
const VALUES: unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 53 + 2,
  1e308,
  5e-324,
  '',
  ' ',
  '\t\r\n',
  '\0',
  'a\0b',
  '\ud800',
  'a\udc00b',
  '\ufeff',
  '\u202egnp.exe',
  '\u200b',
  '\u3164',
  'e\u0301\u034f\u0323',
  'Ａ０＠ｘ。ｄｅ',
  'ТЕЅТ',
  'a b@x.de',
  'a@xn--zz--\u200d.ä',
  'ﬃ'.repeat(20),
  'İ'.repeat(10),
  '😀'.repeat(10),
  'x'.repeat(300),
  'x'.repeat(70_000),
  '__proto__',
  'constructor',
  'toString',
  'null',
  'NaN',
  '1e5',
  '-0',
  '0x10',
  "' or 1=1 --",
  '"; drop table shops; --',
  '%00',
  '%',
  '_',
  '{{7*7}}',
  '../../etc/passwd',
  '<script>alert(1)</script>',
  '2026-02-30',
  '2026-10-31T24:00:00Z',
  '9999-12-31T23:59:59.999Z',
  '0000-01-01',
  '+275760-09-13T00:00:00.001Z',
  [],
  {},
  [[[[]]]],
  [null],
  { length: 3 },
  { toString: 1, valueOf: 2 },
]

export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...VALUES) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 4, noUnicodeString: false }) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
)

export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...VALUES.filter((one): one is string => typeof one === 'string')),
  fc.constantFrom('0', '-1', '1.5', '101', '2147483648', '9007199254740993', '1e3', '١', 'true', '[]', '1,2'),
  fc.string({ unit: 'binary', maxLength: 60 }),
)

const DEEP = 5000

/** JSON text modified in ways that a value cannot express. */
const HARM: ((text: string) => string)[] = [
  (text) => text.replace('{', '{"__proto__":{"status":"APPROVED","shopId":"x"},'),
  (text) => text.replace('{', '{"constructor":{"prototype":{"a":1}},'),
  (text) => text.replace(/"([a-z]\w*)":/, (found) => `${found}1,${found}`),
  (text) => text.replace(/:\s*\d+/, ':9007199254740993'),
  (text) => text.replace(/:\s*\d+/, ':1e400'),
  (text) => text.replace(/:\s*\d+/, ':-0'),
  (text) => text.replace(/:\s*"[^"]*"/, ':"\\ud800"'),
  (text) => text.replace(/:\s*"[^"]*"/, ':"\\u0000"'),
  (text) => text.replace(/"([^"]*)"(?=[^"]*$)/, '"$1\\ud800"'),
  (text) => text.replace(/"([^"]*)"(?=[^"]*$)/, '"$1\\u0000"'),
  (text) => text.replace(/"(?=,"|\}$)/g, '\\udc00"'),
  (text) => text.replace(/:\s*("[^"]*"|\d+)/, () => `:${'['.repeat(DEEP)}${']'.repeat(DEEP)}`),
  (text) => text.slice(0, -1),
  (text) => `\ufeff${text}`,
  (text) => `${text}${text}`,
  (text) => `[${text}]`,
  (text) => text.replaceAll('"', "'"),
  (text) => `${text.slice(0, -1)},}`,
  () => '',
  () => 'null',
  () => '"text"',
  () => '-',
]

export const harm: fc.Arbitrary<(text: string) => string> = fc.constantFrom(...HARM)

/** Bytes that are not UTF-8. */
export const brokenBytes: fc.Arbitrary<Uint8Array<ArrayBuffer>> = fc.constantFrom(
  new Uint8Array([0x22, 0xff, 0x22]),
  new Uint8Array([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xc3, 0x22, 0x7d]),
  new Uint8Array([0xed, 0xa0, 0x80]),
  new Uint8Array([0xfe, 0xff, 0x00, 0x7b]),
  new Uint8Array([0xc0, 0x80]),
)
