import { sanitizeText } from '../output/text.ts'

const escaped = (text: string) => sanitizeText(text).replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`)

/** The report as CI systems read it. */
export function junit({ url, probes }: { url: string; probes: readonly ProbeResult[] }): string {
  const failures = probes.filter(({ passed }) => !passed).length
  const cases = probes.map(({ name, passed, ms, got, advice }) => {
    const head = `    <testcase classname="webhooks check" name="${escaped(name)}" time="${ms / 1000}"`
    return passed
      ? `${head}/>`
      : `${head}>\n      <failure message="${escaped(`got ${got}`)}">${escaped(advice ?? '')}</failure>\n    </testcase>`
  })
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="${escaped(url)}" tests="${probes.length}" failures="${failures}">
${cases.join('\n')}
  </testsuite>
</testsuites>
`
}

export interface ProbeResult {
  name: string
  expected: 'accept' | 'refuse'
  got: string
  passed: boolean
  ms: number
  advice: string | null
}
