import type { Csv } from '../csv/read.ts'
import { renderRows } from '../output/render.ts'
import type { Run } from '../run.ts'
import type { ParseSettings } from './fields.ts'
import { EVIDENCE_FIELDS } from './fields.ts'

/** What is read from where, so that a wrong column is seen before it is money. */
export function printMapping(run: Run, { header, rows }: Csv, { mapping, money }: ParseSettings): void {
  const formOf = (field: string) => {
    const column = money[field]
    return column ? (column.unit === 'cents' ? 'cents' : `decimal ${column.decimal}`) : ''
  }
  const lines = Object.entries(mapping).map(([field, column]) => ({
    field,
    column,
    form: formOf(field),
    first: rows[0]?.cells[column] ?? '',
  }))
  if (!mapping.occurredAt) lines.push({ field: 'occurredAt', column: '(none)', form: '', first: 'now' })
  const style = { ...run.style, format: 'table' as const, fields: undefined, palette: run.reporter.palette }
  if (!run.globalOptions.quiet) run.reporter.write(renderRows(lines, ['field', 'column', 'form', 'first'], style))
  const unused = header.filter((name) => name && !Object.values(mapping).includes(name))
  if (unused.length) run.reporter.info(`not used: ${unused.join(', ')}`)
  if (!mapping.occurredAt)
    run.reporter.warn('no date column: every order counts as happening now. Add --map occurredAt=Column.')
  if (!EVIDENCE_FIELDS.some((field) => mapping[field]))
    run.reporter.warn('No column names an affiliate: none of these orders can be credited.')
}
