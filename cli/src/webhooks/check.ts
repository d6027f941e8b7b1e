import { writeFileSync } from 'node:fs'
import type { SignedDelivery } from '@referral/webhook-verifier/testing'
import { signedDelivery } from '@referral/webhook-verifier/testing'
import { CliError, type ExitCode, exitCode } from '../exit.ts'
import type { Run } from '../run.ts'
import { requireSecret, type SecretOptions } from '../secrets.ts'
import { junit, type ProbeResult } from './junit.ts'
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

/** Sends what a receiver will meet one day, and scores its answers. */
export async function check(run: Run, target: string, options: CheckOptions): Promise<ExitCode | undefined> {
  const url = parseReceiverUrl(target)
  const secret = await requireSecret(run.context, options)
  const kit: ProbeContext = {
    secret,
    now: run.context.now(),
    sign: (event, given) => signedDelivery(event, { secret, ...given }),
  }
  const results: ProbeResult[] = []
  for (const probe of probes) {
    const result = await runProbe(url, probe, kit)
    if (results.length === 0 && result.got === 'no answer')
      throw new CliError(exitCode.unavailable, `Nothing answers at ${url}.`, { code: 'receiver_unreachable' })
    results.push(result)
  }
  const passed = results.filter((one) => one.passed).length
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

async function runProbe(url: string, probe: Probe, kit: ProbeContext): Promise<ProbeResult> {
  const { name, expected, advice } = probe
  const answers: ReceiverResponse[] = []
  for (const delivery of await probe.deliveries(kit)) answers.push(await send(url, delivery))
  const isRight = (status: number | undefined) =>
    status !== undefined && (expected === 'accept' ? status >= 200 && status < 300 : status >= 400 && status < 500)
  const wrong = answers.find(({ status }) => !isRight(status))
  const ms = answers.reduce((sum, answer) => sum + answer.ms, 0)
  const got = String((wrong ?? answers.at(-1))?.status ?? 'no answer')
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
  run.reporter.info(`${report.score} % (${report.passed} of ${report.total})`)
}
