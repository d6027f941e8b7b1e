import { expect, test } from 'vitest'
import { csvCell } from '../../cli/src/csv/write.ts'
import { csvLine } from '../../server/src/core/csv.ts'

const FORMULAS = [
  '=1',
  '+1',
  '-1',
  '@SUM(A1)',
  ' =1',
  '\u00a0=1',
  '\ufeff=1',
  '|calc',
  '\uff1d1',
  '\uff0b1',
  '\uff0d1',
  '\uff201',
]
const HIDDEN = ['\t=1', '\r=1', '\u0000=1', '\u202e=1', '\n=1']

test.each([...FORMULAS, ...HIDDEN])('%j is not a formula in the files of the server and of the CLI', (text) => {
  for (const cell of [csvLine([text]), csvCell(text)]) expect(cell).toMatch(/^"?'/)
})

test('numbers and other text are written unchanged', () => {
  expect(csvLine([-5, null, 'a "b", c', 'Nisa-Mae', 'x\u0007y'])).toBe('-5,,"a ""b"", c",Nisa-Mae,xy\r\n')
})
