import { type Command, InvalidArgumentError, Option } from 'commander'
import { defineCommand } from '../command.ts'
import type { DevOptions } from '../dev/dev.ts'

const port = (text: string): number => {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < 1 || value > 65_535) throw new InvalidArgumentError('It must be from 1 to 65535.')
  return value
}

export function addDev(program: Command): void {
  defineCommand<DevOptions>(program, 'dev', {
    summary: 'a server with a demo shop for trying things; nothing of it stays',
    details:
      'Starts the real server on a database in memory, reports an order, and prints the address, the key and the signed webhook that came of it. Runs until Ctrl-C.',
    output: 'DevServer',
    examples: ['referral dev', 'referral dev --forward-to http://localhost:3000/hooks', 'referral dev --once --json'],
    action: async (run, { options }) => (await import('../dev/dev.ts')).dev(run, options),
  })
    .addOption(new Option('--port <n>', 'where to listen; a free one when left out').argParser(port))
    .option('--forward-to <url>', 'hand every webhook on to this receiver, as it is')
    .option('--once', 'end after the first webhook')
}
