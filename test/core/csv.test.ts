import { expect, test } from 'vitest'
import { csvCell } from '../../cli/src/csv/write.ts'
import { csvLine, spreadsheetLine } from '../../server/src/core/csv.ts'

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

test.each([
  ['x;=1;y', "x;'=1;y"],
  ['x; \u00a0@SUM(A1)', "x;' \u00a0@SUM(A1)"],
  ['a\n=1+1;\n-b', "a\n'=1+1;\n'-b"],
  ['x;\t=1', "x;'=1"],
  ['=1;=2', "'=1;'=2"],
])('%j has no formula where a spreadsheet separates cells at semicolons or line breaks', (text, safe) => {
  expect(csvLine([text])).toBe(`"${safe}"\r\n`)
  expect(spreadsheetLine([text])).not.toMatch(/[;\n]\s*[=@-]|\n./)
  expect(csvCell(text)).not.toMatch(/[;\n]\s*[=@-]/)
})

test('numbers and other text are written unchanged', () => {
  expect(csvLine(['a; b\nc = d', 'x -1'])).toBe('"a; b\nc = d",x -1\r\n')
  expect(csvLine([-5, null, 'a "b", c', 'Nisa-Mae', 'x\u0007y'])).toBe('-5,,"a ""b"", c",Nisa-Mae,xy\r\n')
})
