import { writeFileSync } from 'node:fs'
import type { ConformanceReport, Suite } from '@referral/conformance'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { defineCommand } from '../command.ts'
import { CliError, type ExitCode, exitCode, usageError } from '../errors.ts'
import { counted } from '../output/text.ts'
import type { Run } from '../run.ts'

interface Options {
  suite?: string[]
  only?: string[]
  receiverPort?: number
  receiverHost?: string
  receiverUrl?: string
  testShops?: boolean
  changeSettings?: boolean
  junit?: string
}

const toPort = (text: string): number => {
  const port = Number(text)
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new InvalidArgumentError('It must be a port.')
  return port
}
const collect = (value: string, previous: string[] = []) => [...previous, value]

/** The contract's checks, as in `@referral/conformance`. */
export function addConformance(program: Command): void {
  defineCommand<Options>(program, 'conformance', {
    summary: 'test whether the service follows the contract',
    details:
      'Sends about 1,500 requests and creates programs, affiliates, orders and payout batches, whose names start with `cf-`. Requires a key with every scope; do not run it against a shop whose reports are in use. With an owner token, it creates temporary keys and finishes in under a minute. Without one, it is slowed down by the rate limit. `REFERRAL_OTHER_API_KEY` is a key of another shop, for the isolation of shops. Exits with 8 when a check fails.',
    output: 'ConformanceReport',
    examples: ['referral conformance', 'referral conformance --suite core --junit report.xml'],
    action: (run, { options }) => conformance(run, options),
  })
    .addOption(
      new Option('--suite <name>', 'core, webhooks or owner; can be repeated; default: all')
        .choices(['core', 'webhooks', 'owner'])
        .argParser((value, previous?: string[]) => collect(value, previous)),
    )
    .addOption(
      new Option('--only <name>', 'only checks whose name starts with this; can be repeated').argParser(
        (value, previous?: string[]) => collect(value, previous),
      ),
    )
    .addOption(
      new Option('--receiver-port <port>', 'the port that receives webhooks; default: a free one').argParser(toPort),
    )
    .option('--receiver-host <host>', 'the address to listen on; default: 127.0.0.1')
    .option('--receiver-url <url>', 'the public address of that port')
    .option('--test-shops', 'with an owner token: run in two new test shops, and delete them afterwards')
    .option('--change-settings', 'also run checks that change settings of the shop for a moment')
    .option('--junit <file>', 'write the report as JUnit XML')
}

async function conformance(run: Run, options: Options): Promise<ExitCode | undefined> {
  const { runConformance, toJUnit, UsageError } = await import('@referral/conformance')
  const { ownerToken, baseUrl } = run.settings
  const stop = run.handleInterrupt()
  const report = await runConformance({
    baseUrl,
    key: run.apiKey,
    ownerToken,
    otherKey: run.context.env.REFERRAL_OTHER_API_KEY || undefined,
    suites: options.suite as Suite[] | undefined,
    only: options.only,
    receiver: { port: options.receiverPort, host: options.receiverHost, url: options.receiverUrl },
    useTestShops: options.testShops,
    changeSettings: options.changeSettings,
    signal: stop.signal,
  }).catch((cause: Error) => {
    if (cause instanceof UsageError) throw usageError(cause.message)
    throw new CliError(exitCode.unavailable, `The checks could not run: ${cause.message}.`, { code: 'checks_not_run' })
  })
  if (options.junit) writeFileSync(options.junit, toJUnit(report))
  print(run, report)
  if (report.interrupted) return exitCode.interrupted
  return report.failed ? exitCode.partial : undefined
}

function print(run: Run, report: ConformanceReport): void {
  const { checks, passed, failed, skipped, requests, ms } = report
  if (run.style.format === 'json') run.printRecord(report)
  else run.printRows(checks, ['status', 'name', 'message'])
  for (const { name, status, rule, link } of checks)
    if (status === 'failed') run.reporter.info(`${name}: ${rule}. ${link}`)
  for (const sentence of report.remaining) run.reporter.info(sentence)
  run.reporter.info(
    `${counted(checks.length, 'check')}: ${passed} passed, ${failed} failed, ${skipped} skipped. ${counted(requests, 'request')} in ${(ms / 1000).toFixed(1)} s.`,
  )
}
