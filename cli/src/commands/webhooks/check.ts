import { writeFileSync } from 'node:fs'
import { type SignedDelivery, signedDelivery } from '@referral/webhook-verifier/testing'
import { CliError, type ExitCode, exitCode } from '../../errors.ts'
import { sanitizeText } from '../../output/text.ts'
import type { Run } from '../../run.ts'
import { requireSecret, type SecretOptions } from '../../secrets.ts'
import { parseReceiverUrl, postDelivery, type ReceiverResponse } from './post.ts'
import { type Probe, type ProbeContext, probes } from './probes.ts'

export interface CheckOptions extends SecretOptions {
  junit?: string
}

interface Report {
  url: string
  score: number
  passed: number
  total: number
  probes: ProbeResult[]
}

/** Sends valid and invalid deliveries to a receiver and scores its responses. */
export async function check(run: Run, target: string, options: CheckOptions): Promise<ExitCode | undefined> {
  const url = parseReceiverUrl(target)
  const secret = await requireSecret(run.context, options)
  const context: ProbeContext = {
    secret,
    now: run.context.now(),
    sign: (event, options) => signedDelivery(event, { secret, ...options }),
  }
  const results: ProbeResult[] = []
  for (const probe of probes) {
    const result = await runProbe(url, probe, context)
    if (results.length === 0 && result.got === 'no response')
      throw new CliError(exitCode.unavailable, `No response from ${url}. Check that the receiver is running.`, {
        code: 'receiver_unreachable',
      })
    results.push(result)
  }
  const passed = results.filter((result) => result.passed).length
  const report = {
    url,
    score: Math.floor((100 * passed) / results.length),
    passed,
    total: results.length,
    probes: results,
  }
  if (options.junit) writeFileSync(options.junit, junit(report))
  print(run, report)
  return passed === results.length ? undefined : exitCode.partial
}

async function runProbe(url: string, probe: Probe, context: ProbeContext): Promise<ProbeResult> {
  const { name, expected, advice } = probe
  const responses: ReceiverResponse[] = []
  for (const delivery of await probe.deliveries(context)) responses.push(await send(url, delivery))
  const isRight = (status: number | undefined) =>
    status !== undefined && (expected === 'accept' ? status >= 200 && status < 300 : status >= 400 && status < 500)
  const wrong = responses.find(({ status }) => !isRight(status))
  const ms = responses.reduce((sum, response) => sum + response.ms, 0)
  const got = String((wrong ?? responses.at(-1))?.status ?? 'no response')
  return { name, expected, got, passed: !wrong, ms, advice: wrong ? advice : null }
}

const send = (url: string, { body, headers }: SignedDelivery) => postDelivery(url, { body, headers })

function print(run: Run, report: Report): void {
  if (run.style.format === 'json' || run.style.format === 'ndjson') run.printRecord(report)
  else {
    const result = { field: 'passed', title: 'result', show: ({ passed }: ProbeResult) => (passed ? 'ok' : 'failed') }
    run.printRows(report.probes, [result, 'name', 'expected', 'got'])
  }
  for (const { name, advice } of report.probes) if (advice) run.reporter.info(`${name}: ${advice}`)
  run.reporter.info(`${report.score}% (${report.passed} of ${report.total})`)
}

const escaped = (text: string) => sanitizeText(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

/** Renders the report as JUnit XML, for CI systems. */
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
