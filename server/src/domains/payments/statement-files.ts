import type { components } from '../../contract/schema.d.ts'
import { CONTROLS, type CsvCell, csvLine } from '../../core/csv.ts'
import { toUnits } from '../../core/currencies.ts'
import { localDate } from '../../core/time-zone.ts'

type Statement = components['schemas']['Statement']
export type StatementFormat = 'json' | 'csv' | 'html'

/** A statement's text. Rendered in the report thread, because it can have 20,000 lines. */
export function render(statement: Statement, format: StatementFormat): string {
  if (format === 'csv') return toCsv(statement)
  return format === 'html' ? toHtml(statement) : toJson(statement)
}

/** Converts a statement to one text line per statement line. */
function toJson({ lines, ...head }: Statement): string {
  const text = lines.map((line) => JSON.stringify(line)).join(',\n')
  return `${JSON.stringify(head).slice(0, -1)},"lines":[\n${text}\n]}\n`
}

const CSV_HEADER = [
  'statement',
  'line',
  'date',
  'at',
  'kind',
  'reason',
  'status',
  'currency',
  'commissionCents',
  'taxWithheldCents',
  'amountCents',
  'balanceCents',
  'orderId',
  'commissionId',
  'refundId',
  'payoutBatchId',
] as const

type CsvRow = Partial<Record<(typeof CSV_HEADER)[number], CsvCell>>

function toCsv({ number, timeZone, lines, currencies }: Statement): string {
  const toLine = (row: CsvRow) => csvLine(CSV_HEADER.map((column) => ({ statement: number, ...row })[column] ?? null))
  return [
    csvLine([...CSV_HEADER]),
    ...currencies.map(({ currency, openingCents }) =>
      toLine({ kind: 'OPENING', currency, balanceCents: openingCents }),
    ),
    ...lines.map((line) => toLine({ ...line, date: localDate(line.at, timeZone) })),
    ...currencies.map(({ currency, closingCents }) =>
      toLine({ kind: 'CLOSING', currency, balanceCents: closingCents }),
    ),
  ].join('')
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const escapeHtml = (text: string): string =>
  text.replace(CONTROLS, '').replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character)

/** The page's style; its hash is in the Content-Security-Policy. */
export const STATEMENT_STYLE = `
body { font: 14px/1.4 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #111; overflow-wrap: break-word }
h1 { font-size: 1.4rem; margin: 0 0 .25rem } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .25rem .5rem; border-bottom: 1px solid #ddd; vertical-align: top }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap } .small { color: #555; font-size: .85em; overflow-wrap: anywhere }
td:nth-child(2) { white-space: nowrap } td:nth-child(3) { overflow-wrap: anywhere }
thead { display: table-header-group } tr { break-inside: avoid }
@media screen and (max-width: 40rem) {
  body { margin: 1rem auto } table, thead, tbody { display: block } tr { display: grid; grid-template-columns: 1fr 5.5rem 6rem; border-bottom: 1px solid #ddd; padding: .25rem 0 }
  th, td { border: 0; padding: 0 .25rem } :is(th, td):nth-child(1), th:is(:nth-child(3), :nth-child(4), :nth-child(5)), td:is(:nth-child(4), :nth-child(5)):empty { display: none } td:nth-child(3) { grid-row: 2; grid-column: 1 / -1 }
  td:is(:nth-child(4), :nth-child(5)) { grid-row: 3; text-align: left; color: #555; font-size: .85em } td:nth-child(4) { grid-column: 1 } td:nth-child(5) { grid-column: 2 / -1; text-align: right }
  td:nth-child(4)::before { content: 'Commission ' } td:nth-child(5)::before { content: 'Tax withheld ' }
}
@media print { .screen { display: none } body { margin: 0; max-width: none; font-size: 11px } }
`

/** A page that prints well, without scripts or external resources. */
function toHtml(statement: Statement): string {
  const { number, shopName, name, email, month, timeZone, currencies, lines } = statement
  const title = escapeHtml(`Statement ${number}`)
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title><style>${STATEMENT_STYLE}</style></head>
<body><main><h1>${title}</h1>
<p><bdi>${escapeHtml(shopName)}</bdi> to <bdi>${escapeHtml(name)}</bdi> (${escapeHtml(email)})<br>${escapeHtml(month)}, ${escapeHtml(timeZone)}</p>
<p class="small screen">Print this page, or save it as PDF, with the menu of your browser (Ctrl+P or ⌘P). Close this tab to go back.</p>
${currencies.map((sums) => section(sums, lines, timeZone)).join('\n') || '<p>Nothing was earned or paid.</p>'}
</main></body></html>
`
}

const HEADINGS = ['Line', 'Date', 'Reason', 'Commission', 'Tax', 'Amount', 'Balance']
const heading = (text: string, index: number) => `<th${index === 1 || index === 2 ? '' : ' class="n"'}>${text}</th>`

function section(sums: Statement['currencies'][number], lines: Statement['lines'], timeZone: string): string {
  const { currency, openingCents, closingCents, notApprovedCents } = sums
  const amount = (cents: number) => `<td class="n">${toUnits(cents, currency)}</td>`
  const total = (text: string, cents: number) =>
    `<tr><td></td><td></td><td><strong>${text}</strong></td><td></td><td></td><td></td>${amount(cents)}</tr>`
  const rows = lines
    .filter((line) => line.currency === currency)
    .map(
      (line) =>
        `<tr><td class="n">${line.line}</td><td>${localDate(line.at, timeZone)}</td><td><bdi>${escapeHtml(line.reason)}</bdi></td>${amount(line.commissionCents)}${amount(line.taxWithheldCents)}${amount(line.amountCents)}${amount(line.balanceCents)}</tr>`,
    )
  return `<h2>${escapeHtml(currency)}</h2>
<table><thead><tr>${HEADINGS.map(heading).join('')}</tr></thead><tbody>
${total('Opening balance', openingCents)}
${rows.join('\n')}
${total('Closing balance', closingCents)}
</tbody></table>${notApprovedCents ? `<p>Not approved yet: ${toUnits(notApprovedCents, currency)} ${escapeHtml(currency)}</p>` : ''}`
}
