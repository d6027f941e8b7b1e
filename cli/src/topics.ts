// Help topics, which `referral help` and the reference show.
import type { Command } from 'commander'
import { exitCodeMeanings } from './errors.ts'

interface Topic {
  summary: string
  text: () => string
}

/** Variables that the CLI reads. */
export const environmentVariables: Readonly<Record<string, string>> = {
  REFERRAL_BASE_URL: 'URL of the service',
  REFERRAL_API_KEY: 'API key (rk_…)',
  REFERRAL_OWNER_TOKEN: 'owner token (ro_…)',
  REFERRAL_PROFILE: 'profile to use instead of the current one',
  REFERRAL_CONFIG_DIR: 'folder of the profiles (default: $XDG_CONFIG_HOME/referral, else ~/.config/referral)',
  REFERRAL_DATA_DIR: 'folder of the demo shop (default: .referral)',
  REFERRAL_WEBHOOK_SECRET: 'signing secret of a webhook receiver',
  NO_COLOR: 'if set, no colors',
  FORCE_COLOR: 'if set, colors in pipes too',
}

export const credentialOrder =
  'Credentials come from the first of these that is set: --profile; REFERRAL_API_KEY, REFERRAL_OWNER_TOKEN and REFERRAL_BASE_URL; the current profile (referral login); the demo shop in the current folder. A key is only ever sent to the address it was stored with.'

const columns = (rows: Readonly<Record<string, string>>): string => {
  const width = Math.max(...Object.keys(rows).map((name) => name.length))
  return Object.entries(rows)
    .map(([name, meaning]) => `  ${name.padEnd(width)}  ${meaning}\n`)
    .join('')
}

export const topics: Readonly<Record<string, Topic>> = {
  environment: {
    summary: 'environment variables',
    text: () => `${columns(environmentVariables)}\n${credentialOrder}\n`,
  },
  'exit-codes': { summary: 'exit codes', text: () => columns(exitCodeMeanings as Record<string, string>) },
  formatting: {
    summary: 'output formats',
    text: () => `Data goes to standard output, messages go to standard error. On failure, standard output is empty.

${columns({
  'on a terminal': 'tables, with amounts in currency units and days in the time zone of the shop',
  'in a pipe': 'tab-separated lines without a header, with amounts in cents and times in UTC; also with --plain',
  '--json': 'JSON; --json=id,email prints only these fields',
  '--output': 'table, json, ndjson (one object per line), or csv',
  '--quiet': 'no informational messages',
})}
Fields have their API names, such as totals.netPayableCents. With --json, a failure is one object on standard
error: { status, code, message, hint, requestId }.
`,
  },
}

/** Adds the topics as commands that only have help. */
export function addTopics(program: Command): void {
  for (const [name, { summary, text }] of Object.entries(topics)) {
    const topic = program.command(name).description(summary).configureHelp({ formatHelp: text })
    topic.action(() => topic.help())
  }
}
