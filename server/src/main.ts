#!/usr/bin/env node
import { Command } from 'commander'
import { addOperatorCommands } from './operator.ts'
import { serve } from './serve.ts'

const program = new Command('referral-server')
  .description('The referral program API: serve it and operate it.')
  .showHelpAfterError()

program.command('serve', { isDefault: true }).description('serve the API (what `start` runs)').action(serve)
addOperatorCommands(program)

try {
  await program.parseAsync()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
