import { spawn } from 'node:child_process'
import { Argument, type Command } from 'commander'
import { defineCommand } from '../command.ts'
import type { Run } from '../run.ts'
import { version } from '../version.ts'

const PAGES = { admin: '/admin', docs: '/api/v1/docs', spec: '/openapi.yaml' }

/** Commands about the CLI itself. */
export function addMeta(program: Command, createFullProgram: () => Promise<Command>): void {
  defineCommand<{ print?: boolean }>(program, 'open', {
    summary: 'open a page of the service in the browser',
    output: 'Address',
    examples: ['referral open admin', 'referral open spec'],
    action: (run, { options, args: [page = 'docs'] }) => openPage(run, PAGES[page as keyof typeof PAGES], options),
  })
    .addArgument(
      new Argument('[page]', 'the dashboard, the quick start, or the OpenAPI document')
        .choices(Object.keys(PAGES))
        .default('docs'),
    )
    .option('--print', 'print the URL instead')
  defineCommand<{ print?: boolean }>(program, 'docs', {
    summary: 'open the quick start of the API in the browser',
    output: 'Address',
    action: (run, { options }) => openPage(run, PAGES.docs, options),
  }).option('--print', 'print the URL instead')
  addCliInfo(program, createFullProgram)
}

function addCliInfo(program: Command, createFullProgram: () => Promise<Command>): void {
  defineCommand(program, 'completion', {
    summary: 'print a completion script for your shell',
    output: 'Text',
    examples: [
      'source <(referral completion bash)',
      'referral completion fish > ~/.config/fish/completions/referral.fish',
    ],
    action: async (run, { args: [shell = ''] }) => {
      const { completionFor } = await import('../completion.ts')
      run.printText(completionFor(await createFullProgram(), shell))
    },
  }).addArgument(new Argument('<shell>', 'shell').choices(['bash', 'zsh', 'fish', 'powershell']))

  defineCommand(program, 'commands', {
    summary: 'list all commands',
    output: 'CommandInfo[]',
    action: async (run) => {
      const { describeCommands } = await import('../command-tree.ts')
      run.printRows(describeCommands(await createFullProgram()), ['command', 'summary'])
    },
  })

  defineCommand(program, 'version', {
    summary: 'print the versions of the CLI and Node.js',
    output: 'Version',
    action: async (run) => {
      run.printRecord({ version, node: process.versions.node })
    },
  })
}

async function openPage(run: Run, path: string, { print }: { print?: boolean }): Promise<undefined> {
  const url = run.settings.baseUrl + path
  const opened = !print && run.style.isTerminal && (await openBrowser(url))
  if (opened) run.reporter.info(`opened ${url}`)
  if (!opened || run.style.format === 'json') run.printRecord({ url })
}

const OPENERS: Partial<Record<NodeJS.Platform, string[]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** Opens a URL on the desktop, without a shell. Returns false if there is no desktop. */
export function openBrowser(url: string): Promise<boolean> {
  const [command = 'xdg-open', ...args] = OPENERS[process.platform] ?? []
  return new Promise((resolve) => {
    const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true })
    child.once('error', () => resolve(false))
    child.once('spawn', () => {
      child.unref()
      resolve(true)
    })
  })
}
