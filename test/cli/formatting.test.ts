import fc from 'fast-check'
import { expect, test } from 'vitest'
import { detectMoneyColumn, toCents } from '../../cli/src/commands/events/money-columns.ts'
import { parseCsv } from '../../cli/src/csv/parse.ts'
import { csvCell, csvLine } from '../../cli/src/csv/write.ts'
import { endOfDay } from '../../cli/src/days.ts'
import { formatMoney, parseTypedAmount, toDecimal } from '../../cli/src/money.ts'
import { paletteFor } from '../../cli/src/output/color.ts'
import { type OutputStyle, renderRecord, renderRows } from '../../cli/src/output/render.ts'
import { sanitizeText, toJson, widthOf } from '../../cli/src/output/text.ts'
import { monthPeriod } from '../../cli/src/period.ts'

test('minor units have as many digits as in ISO 4217', () => {
  const shown = {
    USD: '1440.00',
    JPY: '144000',
    KWD: '144.000',
    HUF: '1440.00',
    IDR: '1440.00',
    COP: '1440.00',
    CLF: '14.4000',
  }
  for (const [currency, text] of Object.entries(shown))
    expect([currency, toDecimal(144_000, currency)]).toEqual([currency, text])
  expect(toDecimal(-5, 'USD')).toBe('-0.05')
  expect(formatMoney(-123_456_789, 'USD')).toBe('-1,234,567.89 USD')
})

test('a formatted amount can be parsed back, in any currency', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -(2 ** 52), max: 2 ** 52 }),
      fc.constantFrom('USD', 'JPY', 'KWD'),
      (cents, currency) => {
        expect(parseTypedAmount(formatMoney(cents, currency), currency)).toBe(cents)
        expect(parseTypedAmount(toDecimal(cents, currency), currency)).toBe(cents)
      },
    ),
  )
  for (const text of ['', 'yes', '14.4', '14,40', '1.440', '14.400', '1,44.00', '16.00 EUR', '99999999999999999999'])
    expect(parseTypedAmount(text, 'USD')).toBeUndefined()
})

test('a month is complete, including in leap years and at the end of a year', () => {
  const now = Date.parse('2026-01-15T00:00:00Z')
  expect(monthPeriod('2028-02', now)).toEqual({ from: '2028-02-01T00:00:00.000Z', to: '2028-02-29T23:59:59.999Z' })
  expect(monthPeriod('last', now)).toEqual({ from: '2025-12-01T00:00:00.000Z', to: '2025-12-31T23:59:59.999Z' })
  expect(monthPeriod('this', now).to).toBe('2026-01-31T23:59:59.999Z')
  for (const month of ['2026-13', '2026-1', '26-10', 'next', '2026-10-01'])
    expect(() => monthPeriod(month, now)).toThrow('--month')
  expect(endOfDay('2026-10-31')).toBe('2026-10-31T23:59:59.999Z')
  expect(endOfDay('2026-10-31T10:00:00Z')).toBe('2026-10-31T10:00:00Z')
})

test('names cannot inject terminal escapes or spreadsheet formulas', () => {
  const name = 'Ev\u001b[2Jil\u009b31m\u202egnp\u0007\r\nX'
  expect(sanitizeText(name)).toBe('Ev[2Jil31mgnp X')
  const json = toJson({ name }, 2)
  expect(json).not.toMatch(/[\u0080-\u009f\u202e]/)
  expect(JSON.parse(json)).toEqual({ name })
  for (const text of ['=1+1', '+1', '-1', '@SUM(A1)', ' =1', '|calc', '\uff1d1', '\t=1', '\r=1', '\u0000=1'])
    expect([text, csvCell(text).replace(/^"/, '').startsWith("'")]).toEqual([text, true])
  expect(csvLine([-5, { decimal: '-0.05' }, 'a "b", c', null, true])).toBe('-5,-0.05,"a ""b"", c",,true\r\n')
})

test('wide characters and combining marks keep tables aligned', () => {
  expect(widthOf('abc')).toBe(3)
  expect(widthOf('日本')).toBe(4)
  expect(widthOf('e\u0301')).toBe(1)
})

const style = (change: Partial<OutputStyle>): OutputStyle => ({
  format: 'table',
  fields: undefined,
  palette: paletteFor({}, { isTerminal: false, plain: false }),
  isTerminal: false,
  ...change,
})

test('every output format, with all or some fields', () => {
  const rows = [{ id: 'a', totals: { net: 5 }, tags: ['x', 'y'], note: null }]
  const render = (change: Partial<OutputStyle>) => renderRows(rows, ['id', 'totals.net', 'note'], style(change))
  expect(render({})).toBe('ID  TOTALS.NET  NOTE\na   5           –\n')
  expect(render({ format: 'plain' })).toBe('a\t5\t\n')
  expect(JSON.parse(render({ format: 'json' }))).toEqual(rows)
  expect(render({ format: 'ndjson', fields: ['totals.net', 'id'] })).toBe('{"totals.net":5,"id":"a"}\n')
  expect(render({ format: 'csv' })).toBe('id,totals.net,tags,note\r\na,5,x y,\r\n')
  expect(() => render({ format: 'json', fields: ['nope'] })).toThrow('Unknown field nope.')
  expect(renderRecord({ id: 'a', totals: { net: 5 } }, style({ format: 'plain' }))).toBe('id\ta\ntotals.net\t5\n')
})

test('a pipe gets no JSON in cells', () => {
  const row = {
    id: 'a',
    scopes: ['x', 'y'],
    lines: [
      { id: 'l1', n: 1 },
      { id: 'l2', n: 2 },
    ],
    by: { EUR: 5 },
  }
  const style = {
    format: 'plain',
    fields: undefined,
    palette: paletteFor({}, { isTerminal: false, plain: true }),
    isTerminal: false,
  } as const
  expect(renderRows([row], ['id', 'lines', 'by'], style)).toBe('a\t0.id=l1 0.n=1 1.id=l2 1.n=2\tEUR=5\n')
  expect(renderRecord(row, style)).toBe(
    'id\ta\nscopes\tx y\nlines.0.id\tl1\nlines.0.n\t1\nlines.1.id\tl2\nlines.1.n\t2\nby.EUR\t5\n',
  )
})

test('colors only on a terminal, never with NO_COLOR or --plain, always with FORCE_COLOR', () => {
  const isColored = (env: object, isTerminal: boolean, plain = false) =>
    paletteFor({ ...env }, { isTerminal, plain }).bold('x') !== 'x'
  expect(isColored({}, true)).toBe(true)
  expect(isColored({}, false)).toBe(false)
  expect(isColored({ NO_COLOR: '1' }, true)).toBe(false)
  expect(isColored({ NO_COLOR: '1', FORCE_COLOR: '1' }, true)).toBe(false)
  expect(isColored({ FORCE_COLOR: '1' }, false)).toBe(true)
  expect(isColored({ FORCE_COLOR: '0' }, true)).toBe(false)
  expect(isColored({ FORCE_COLOR: '1' }, true, true)).toBe(false)
  expect(isColored({ TERM: 'dumb' }, true)).toBe(false)
})

test('CSV: quotes, line breaks in cells, separators, line endings, and rows with missing cells', () => {
  const read = (text: string) =>
    parseCsv(text, 'x.csv').rows.map(({ line, fields, problem }) => [line, ...fields, problem])
  expect(read('a,b\n1,2\n')).toEqual([[2, '1', '2', undefined]])
  expect(read('a;b\r\n"x;""y""\nz";2')).toEqual([[2, 'x;"y"\nz', '2', undefined]])
  expect(read('a\tb\r1\t2\r\r3\t4')).toEqual([
    [2, '1', '2', undefined],
    [4, '3', '4', undefined],
  ])
  expect(read('a,b\n1\n')[0]?.at(-1)).toBe('1 cell, but the header has 2')
  expect(() => read('a,b\n"1,2\n')).toThrow('Unclosed quote')
  expect(() => read('a,b\n"1"x,2\n')).toThrow('Unexpected text next to a quote')
  expect(() => read('a,a\n1,2\n')).toThrow('two columns named a')
  expect(() => read('\n')).toThrow('no header')
})

test('any CSV is parsed back to its cells', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.string(), fc.string()), { minLength: 1 }), (rows) => {
      const cell = (text: string) => `"${text.replaceAll('"', '""')}"`
      const text = `a,b\n${rows.map((row) => row.map(cell).join(',')).join('\n')}\n`
      expect(parseCsv(text, 'x.csv').rows.map(({ fields }) => fields)).toEqual(rows)
    }),
  )
})

const column = (name: string, texts: string[], options = {}, currency = 'USD') =>
  detectMoneyColumn(
    name,
    texts.map((text) => ({ text, currency })),
    options,
  )

test('ambiguous amounts are rejected until an option resolves them', () => {
  expect(column('amountCents', ['100'])).toMatchObject({ unit: 'cents' })
  expect(column('amount', ['100.00', '5'])).toEqual({ unit: 'units', decimal: '.' })
  expect(column('amount', ['1.234,56', ''])).toEqual({ unit: 'units', decimal: ',' })
  expect(column('amount', ['100'], {}, 'JPY')).toEqual({ unit: 'units', decimal: '.' })
  expect(() => column('amount', ['100', '250'])).toThrow('100 may be 100 USD or 100 cents')
  expect(() => column('amount', ['1,234'])).toThrow('ambiguous')
  expect(() => column('amount', ['1.234'], { money: 'units' })).toThrow('ambiguous')
  expect(() => column('amount', ['1.50', '1,50'])).toThrow('decimal points and decimal commas')
  expect(column('amount', ['100'], { money: 'cents' })).toMatchObject({ unit: 'cents' })
  expect(column('amount', ['1,234'], { decimal: ',' })).toEqual({ unit: 'units', decimal: ',' })
})

test('amounts are parsed to minor units, or rejected with a reason', () => {
  const cents = (text: string, decimal: '.' | ',' = '.', currency = 'USD') =>
    toCents(text, { unit: 'units', decimal }, currency)
  expect([
    cents('100.00'),
    cents('$1,250.5'),
    cents('1.250,50 €', ',', 'EUR'),
    cents('1 250'),
    cents('100', '.', 'JPY'),
    cents('1.234', '.', 'KWD'),
  ]).toEqual([10_000, 125_050, 125_050, 125_000, 100, 1234])
  for (const text of ['abc', '-5.00', '1.2.3', '1,23.00', '10.505', '1e3', '٣'])
    expect(cents(text)).toHaveProperty('problem')
  for (const [text, currency] of [
    ['€5.00', 'USD'],
    ['£5.00', 'EUR'],
    ['$5.00', 'EUR'],
    ['¥5', 'USD'],
  ] as const)
    expect(cents(text, '.', currency)).toEqual({ problem: `${text} is not in ${currency}` })
  expect(cents('$5.00', '.', 'CAD')).toBe(500)
  expect(toCents('12.5', { unit: 'cents', decimal: '.' }, 'USD')).toHaveProperty('problem')
})
