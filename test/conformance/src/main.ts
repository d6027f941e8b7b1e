#!/usr/bin/env node
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { Suite } from './check.ts'
import { checks } from './checks/all.ts'
import { printable, toJUnit, toText } from './report.ts'
import { runConformance, UsageError } from './run.ts'

const HELP = `Tests whether a server follows the contract of the referral program API.

Usage: referral-conformance [options]

  --url <url>            the server; default: REFERRAL_BASE_URL, or http://127.0.0.1:8787
  --suite <name>         core, webhooks or owner; can be repeated; default: all
  --only <name>          only checks whose name starts with this; can be repeated
  --receiver-port <n>    the port that receives webhooks; default: a free port
  --receiver-host <host> the address to listen on; default: 127.0.0.1
  --receiver-url <url>   the public address of that port; default: http://127.0.0.1:<port>
  --test-shops           with an owner token: run in two new test shops, and delete them afterwards
  --change-settings      also run checks that change settings of the shop for a moment
  --concurrency <n>      checks that run at the same time; default: 4
  --json                 print the report as JSON
  --junit <file>         write the report as JUnit XML
  --list                 print the checks without running them
  --help                 show this help

Credentials are read from the environment:
  REFERRAL_API_KEY       a key with every scope (required)
  REFERRAL_OWNER_TOKEN   the token of an owner, for the suite owner and a faster run
  REFERRAL_OTHER_API_KEY a key of another shop, for the isolation of shops

Exit codes: 0 all passed, 1 the run failed, 2 wrong usage, 8 some checks failed, 130 interrupted.
`

const SUITES = ['core', 'webhooks', 'owner']

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      url: { type: 'string' },
      suite: { type: 'string', multiple: true },
      only: { type: 'string', multiple: true },
      'receiver-port': { type: 'string' },
      'receiver-host': { type: 'string' },
      'receiver-url': { type: 'string' },
      'test-shops': { type: 'boolean' },
      'change-settings': { type: 'boolean' },
      concurrency: { type: 'string' },
      json: { type: 'boolean' },
      junit: { type: 'string' },
      list: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
  if (values.help) {
    process.stdout.write(HELP)
    return 0
  }
  if (values.list) {
    for (const { name, suite, rule } of checks) process.stdout.write(`${name}\t${suite}\t${rule}\n`)
    return 0
  }
  const { REFERRAL_BASE_URL, REFERRAL_API_KEY, REFERRAL_OWNER_TOKEN, REFERRAL_OTHER_API_KEY } = process.env
  const wrong = values.suite?.find((one) => !SUITES.includes(one))
  if (wrong) return usage(`There is no suite ${wrong}.`)
  if (!REFERRAL_API_KEY) return usage('Set REFERRAL_API_KEY to an API key with every scope.')
  const stop = new AbortController()
  // A second one has no listener, and ends the process.
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      process.stderr.write('\nStopping: what the run created is removed. Press Ctrl-C again to exit at once.\n')
      stop.abort()
    })
  const isTerminal = process.stderr.isTTY
  const report = await runConformance({
    baseUrl: values.url ?? REFERRAL_BASE_URL ?? 'http://127.0.0.1:8787',
    key: REFERRAL_API_KEY,
    ownerToken: REFERRAL_OWNER_TOKEN || undefined,
    otherKey: REFERRAL_OTHER_API_KEY || undefined,
    suites: values.suite as Suite[] | undefined,
    only: values.only,
    receiver: {
      port: values['receiver-port'] ? Number(values['receiver-port']) : undefined,
      host: values['receiver-host'],
      url: values['receiver-url'],
    },
    useTestShops: values['test-shops'],
    changeSettings: values['change-settings'],
    concurrency: values.concurrency ? Number(values.concurrency) : undefined,
    signal: stop.signal,
    onResult: ({ name }, done, total) => {
      if (isTerminal) process.stderr.write(`\r\u001b[K${done}/${total} ${printable(name)}`)
    },
  })
  if (isTerminal) process.stderr.write('\r\u001b[K')
  if (values.junit) writeFileSync(values.junit, toJUnit(report))
  process.stdout.write(values.json ? `${JSON.stringify(report, undefined, 2)}\n` : toText(report))
  if (report.interrupted) return 130
  return report.failed ? 8 : 0
}

function usage(message: string): number {
  process.stderr.write(`${message} See --help.\n`)
  return 2
}

// A reader such as `head` may close the pipe early.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
try {
  process.exitCode = await main()
} catch (error) {
  const { code, message, cause } = error as Error & { code?: string }
  const reason = cause instanceof Error ? `${message}: ${cause.message}` : message
  process.stderr.write(`${reason}\n`)
  process.exitCode = code?.startsWith('ERR_PARSE_ARGS') || error instanceof UsageError ? 2 : 1
}
