import type { CheckResult, ConformanceReport } from './run.ts'

// biome-ignore lint/suspicious/noControlCharactersInRegex: responses of the server are printed
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/** Removes characters that change how a terminal shows the rest. */
export const printable = (text: string): string => text.replace(CONTROL, '')

/** The report as text: what failed and why, and the counts. */
export function toText(report: ConformanceReport): string {
  const { checks, passed, failed, skipped, ms, requests, waitedMs, interrupted, remaining } = report
  const lines = checks
    .filter(({ status }) => status === 'failed')
    .flatMap(({ name, rule, message, link }) => [`✗ ${name}: ${rule}`, `    ${message}`, `    ${link}`])
  const reasons = new Map<string, number>()
  for (const { status, message } of checks)
    if (status === 'skipped' && message) reasons.set(message, (reasons.get(message) ?? 0) + 1)
  const skips = [...reasons].map(([reason, count]) => `- ${count} skipped: ${reason}`)
  const waited = waitedMs >= 1000 ? `, ${seconds(waitedMs)} of it waiting for rate limits` : ''
  const summary = `${checks.length} checks: ${passed} passed, ${failed} failed, ${skipped} skipped. ${requests} requests in ${seconds(ms)}${waited}.`
  const end = interrupted ? ['Interrupted: the other checks did not run.'] : []
  return printable([...lines, ...skips, ...remaining, ...end, summary].join('\n')).concat('\n')
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`

const escaped = (text: string) => printable(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

/** The report as JUnit XML, for CI systems. */
export function toJUnit({ baseUrl, checks, failed, skipped, ms }: ConformanceReport): string {
  const cases = checks.map(({ name, suite, ms: time, status, message, rule, link }: CheckResult) => {
    const head = `    <testcase classname="conformance.${suite}" name="${escaped(name)}" time="${time / 1000}"`
    if (status === 'passed') return `${head}/>`
    const inner =
      status === 'skipped'
        ? `<skipped message="${escaped(message ?? '')}"/>`
        : `<failure message="${escaped(message ?? '')}">${escaped(`${rule}\n${link}`)}</failure>`
    return `${head}>\n      ${inner}\n    </testcase>`
  })
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="${escaped(baseUrl)}" tests="${checks.length}" failures="${failed}" skipped="${skipped}" time="${ms / 1000}">
${cases.join('\n')}
  </testsuite>
</testsuites>
`
}
