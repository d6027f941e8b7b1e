import { expect, test } from 'vitest'
import { ApiError } from '../../server/src/contract/errors.ts'
import { checkPeriod, parseBodyInstant, parseQueryInstant } from '../../server/src/core/time.ts'

test.each([
  ['2026-10-31', '2026-10-31T00:00:00.000Z'],
  ['2026-10-31T23:59:59.999Z', '2026-10-31T23:59:59.999Z'],
  ['2026-10-31t23:59:59.999z', '2026-10-31T23:59:59.999Z'],
  ['2026-10-31T23:59Z', '2026-10-31T23:59:00.000Z'],
  ['2026-10-31T23:59:59.5Z', '2026-10-31T23:59:59.500Z'],
  ['2026-10-31T23:59:59.999999999Z', '2026-10-31T23:59:59.999Z'],
  ['2026-11-01T01:00:00+01:00', '2026-11-01T00:00:00.000Z'],
  ['2026-10-31T19:30:00-05:30', '2026-11-01T01:00:00.000Z'],
  ['2026-01-01T00:00:00+00:01', '2025-12-31T23:59:00.000Z'],
  ['2028-02-29', '2028-02-29T00:00:00.000Z'],
  ['2000-02-29T12:00:00-00:00', '2000-02-29T12:00:00.000Z'],
  ['0001-01-01', '0001-01-01T00:00:00.000Z'],
  ['0099-12-31', '0099-12-31T00:00:00.000Z'],
  ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
])('%s is read as an instant', (text, expected) => {
  expect(parseQueryInstant('from', text)).toBe(expected)
})

test.each([
  '',
  '2026',
  '2026-10',
  '2026-1-31',
  '2026-10-31 12:00:00Z',
  '2026-10-31T12:00:00',
  '2026-10-31T12',
  '2026-10-31T12:00:00+0100',
  '2026-10-31T12:00:00+24:00',
  '2026-10-31T12:00:00+01:60',
  '2026-10-31T12:00:00.Z',
  '2026-10-31T12:00:00.1234567890Z',
  '2026-02-29',
  '2026-02-30',
  '2100-02-29',
  '2026-04-31',
  '2026-00-01',
  '2026-13-01',
  '2026-01-00',
  '2026-10-31T24:00:00Z',
  '2026-10-31T25:00:00Z',
  '2026-10-31T12:60:00Z',
  '2026-12-31T23:59:60Z',
  '0000-06-01',
  '0001-01-01T00:00:00+00:01',
  '9999-12-31T23:59:59.999-00:01',
  '+002026-10-31',
  '2026-10-31\n',
  '２０２６-10-31',
])('400 for the instant %j', (text) => {
  const rejection = expect.objectContaining({
    status: 400,
    message: expect.stringMatching(/^to must/),
  })
  expect(thrown(() => parseQueryInstant('to', text))).toEqual(rejection)
  expect(thrown(() => parseQueryInstant('to', text))).toMatchObject({ code: 'invalid_parameter' })
  expect(thrown(() => parseBodyInstant('to', text))).toMatchObject({ code: 'invalid_body' })
})

test('an omitted or null value is undefined', () => {
  expect(parseQueryInstant('from', undefined)).toBeUndefined()
  expect(parseBodyInstant('from', null)).toBeUndefined()
})

test('a period may be open-ended or a single instant, never reversed', () => {
  const [early, late] = ['2026-10-01T00:00:00.000Z', '2026-10-01T00:00:00.001Z']
  expect(checkPeriod(early, late)).toEqual({ from: early, to: late })
  expect(checkPeriod(early, early)).toEqual({ from: early, to: early })
  expect(checkPeriod(undefined, early)).toEqual({ from: undefined, to: early })
  expect(thrown(() => checkPeriod(late, early))).toMatchObject({
    status: 400,
    code: 'period_invalid',
  })
})

function thrown(act: () => unknown): unknown {
  try {
    act()
  } catch (error) {
    expect(error).toBeInstanceOf(ApiError)
    return error
  }
  return undefined
}
