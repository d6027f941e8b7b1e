import { expect, test } from 'vitest'
import { readPeriod } from '../../cli/src/period.ts'
import {
  addMonths,
  endOfDay,
  isDay,
  lastMonth,
  localDate,
  monthPeriod,
  monthsBetween,
  startOfDay,
  timeZoneName,
} from '../../server/src/core/time-zone.ts'

const zones = [...Intl.supportedValuesOf('timeZone'), 'UTC']
/** Days on which midnight was skipped or repeated somewhere, a day that did not exist, and the ends of months. */
const days = [
  '2011-12-30', // Apia skipped it.
  '2018-11-04', // São Paulo skipped midnight.
  '2018-02-18',
  '2022-09-11', // Santiago skipped midnight.
  '2023-03-26', // Beirut skipped midnight.
  '2024-04-26', // Cairo skipped midnight.
  '2024-11-03', // Havana repeated midnight.
  '2026-03-01',
  '2026-03-29',
  '2026-10-01',
  '2026-10-25',
  '2026-10-31',
  '2026-11-01',
  '2028-02-29',
]

test(`days of ${zones.length} time zones start where Temporal says, which the CLI uses`, async () => {
  const source = { context: { now: () => 0 }, timeZone: async () => 'UTC' }
  const wrong: unknown[] = []
  for (const timeZone of zones)
    for (const day of days) {
      const own = { from: startOfDay(day, timeZone), to: endOfDay(day, timeZone) }
      const other = timeZone === 'UTC' ? own : await readPeriod({ from: day, to: day, timeZone }, source)
      if (own.from !== other?.from || own.to !== other?.to) wrong.push([timeZone, day, own, other])
    }
  expect(wrong).toEqual([])
})

test('months have no gap and no overlap, and the CLI has the same ones', async () => {
  const monthOf = (month: string, timeZone: string) =>
    readPeriod({ month }, { context: { now: () => 0 }, timeZone: async () => timeZone })
  for (const zone of [
    'UTC',
    'Europe/Berlin',
    'America/New_York',
    'Asia/Kolkata',
    'Australia/Lord_Howe',
    'Pacific/Apia',
  ])
    for (const [month, next] of [
      ['2011-12', '2012-01'],
      ['2026-03', '2026-04'],
      ['2026-10', '2026-11'],
      ['2026-11', '2026-12'],
      ['2026-12', '2027-01'],
    ] as const) {
      const [one, other] = [monthPeriod(month, zone), monthPeriod(next, zone)]
      expect(Date.parse(other.from) - Date.parse(one.to)).toBe(1)
      expect(await monthOf(month, zone)).toEqual(one)
      expect([localDate(one.from, zone), localDate(one.to, zone)].map((day) => day.slice(0, 7))).toEqual([month, month])
    }
  expect(monthPeriod('2026-10', 'Europe/Berlin')).toEqual({
    from: '2026-09-30T22:00:00.000Z',
    to: '2026-10-31T22:59:59.999Z',
  })
})

test('dates of the CLI are whole days in the zone, times are instants', async () => {
  const source = {
    context: { now: () => Date.parse('2026-11-01T02:00:00Z') },
    timeZone: async () => 'America/New_York',
  }
  expect(await readPeriod({ from: '2026-10-31', to: '2026-11-01' }, source)).toEqual({
    from: '2026-10-31T04:00:00.000Z',
    to: '2026-11-02T04:59:59.999Z',
  })
  expect(await readPeriod({ from: '2026-10-31', timeZone: 'Asia/Tokyo' }, source)).toEqual({
    from: '2026-10-30T15:00:00.000Z',
  })
  expect(await readPeriod({ from: '2026-10-31T00:00:00Z' }, source)).toEqual({ from: '2026-10-31T00:00:00Z' })
  // October is not over in New York.
  expect(await readPeriod({ month: 'this' }, source)).toEqual({
    from: '2026-10-01T04:00:00.000Z',
    to: '2026-11-01T03:59:59.999Z',
  })
  await expect(readPeriod({ from: '2026-10-31', timeZone: 'Mars' }, source)).rejects.toThrow('not a time zone')
})

test('the month before an instant, and texts that are not a day', () => {
  expect(lastMonth('2026-11-01T02:00:00.000Z', 'America/New_York')).toBe('2026-09')
  expect(lastMonth('2026-11-01T02:00:00.000Z', 'Europe/Berlin')).toBe('2026-10')
  expect(lastMonth('2026-01-15T00:00:00.000Z', 'UTC')).toBe('2025-12')
  expect(endOfDay('2026-10-25', 'Europe/Berlin')).toBe('2026-10-25T22:59:59.999Z')
  for (const text of ['', '2026-10', '2026-02-30', '9999-12-31', '0000-01-01', '2026-10-01T00:00:00Z'])
    expect(isDay(text), text).toBe(false)
})

test('names of time zones', () => {
  expect(timeZoneName('europe/berlin')).toBe('Europe/Berlin')
  expect(timeZoneName('utc')).toBe('UTC')
  for (const text of ['+02:00', 'Mars/Phobos', '', 'Europe/Berlin ', '02:00'])
    expect(timeZoneName(text)).toBeUndefined()
})

test.for([
  ['UTC', '2027-10-31T12:00:00.000Z', 4, '2028-02-29T12:00:00.000Z'], // A leap day ends the month.
  ['UTC', '2027-10-31T12:00:00.000Z', 16, '2029-02-28T12:00:00.000Z'],
  ['UTC', '2028-02-29T12:00:00.000Z', 12, '2029-02-28T12:00:00.000Z'],
  ['UTC', '2027-03-31T12:00:00.001Z', 0, '2027-03-31T12:00:00.001Z'],
  ['America/New_York', '2027-01-01T04:59:59.999Z', 2, '2027-03-01T04:59:59.999Z'], // 31 December there.
  ['America/New_York', '2027-02-14T07:30:00.000Z', 1, '2027-03-14T07:30:00.000Z'], // Clocks skip 2:30.
  ['America/New_York', '2027-10-07T05:30:00.000Z', 1, '2027-11-07T05:30:00.000Z'], // Clocks repeat 1:30.
  ['UTC', '2027-01-01T00:00:00.000Z', 95_676, null], // The year 10000.
  ['UTC', '2027-01-01T00:00:00.000Z', 2_147_483_647, null],
] as const)('%s: %s and %s months is %s', ([zone, from, months, expected]) => {
  const end = addMonths(from, months, zone)
  expect(end).toBe(expected)
  if (end === null) return
  expect(monthsBetween(from, end, zone)).toBe(months)
  const before = new Date(Date.parse(end) - 1).toISOString()
  if (months > 0) expect(monthsBetween(from, before, zone)).toBe(months - 1)
})
