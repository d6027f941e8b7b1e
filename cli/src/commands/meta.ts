import type { Command } from 'commander'
import { Argument } from 'commander'
import { leaf } from '../command.ts'
import type { Run } from '../run.ts'
import { version } from '../version.ts'

const PAGES = { admin: '/admin', docs: '/api/v1/docs', spec: '/openapi.yaml' }

/** What is about the CLI itself. */
export function addMeta(program: Command): void {
  leaf<{ print?: boolean }>(program, 'open', {
    summary: 'open a page of the service',
    output: 'Address',
    examples: ['referral open admin', 'referral open spec'],
    work: (run, { options, args: [page = 'docs'] }) => show(run, PAGES[page as keyof typeof PAGES], options),
  })
    .addArgument(
      new Argument('[page]', 'the Developer page, the quick start, or the contract')
        .choices(Object.keys(PAGES))
        .default('docs'),
    )
    .option('--print', 'print the address instead')
  leaf<{ print?: boolean }>(program, 'docs', {
    summary: 'open the quick start of the API',
    output: 'Address',
    work: (run, { options }) => show(run, PAGES.docs, options),
  }).option('--print', 'print the address instead')
  addSelf(program)
}

function addSelf(program: Command): void {
  leaf(program, 'completion', {
    summary: 'a completion script for your shell',
    output: 'Text',
    examples: [
      'source <(referral completion bash)',
      'referral completion fish > ~/.config/fish/completions/referral.fish',
    ],
    work: async (run, { args: [shell = ''] }) => {
      const { completionFor } = await import('../completion/completion.ts')
      run.text(completionFor(await wholeTree(), shell))
    },
  }).addArgument(new Argument('<shell>', 'your shell').choices(['bash', 'zsh', 'fish', 'powershell']))

  leaf(program, 'commands', {
    summary: 'every command in one list',
    output: 'CommandInfo[]',
    work: async (run) => {
      const { describeTree } = await import('../tree.ts')
      run.rows(describeTree(await wholeTree()), ['command', 'summary'])
    },
  })

  leaf(program, 'version', {
    summary: 'versions of the CLI and of Node',
    output: 'Version',
    work: async (run) => {
      run.record({ version, node: process.versions.node })
    },
  })
}

const wholeTree = async () => (await import('../program.ts')).createProgram()

async function show(run: Run, path: string, { print }: { print?: boolean }): Promise<undefined> {
  const url = run.settings.baseUrl + path
  const opened = !print && run.style.isTerminal && (await (await import('../browser.ts')).openBrowser(url))
  if (opened) run.talk.note(`opened ${url}`)
  if (!opened || run.style.format === 'json') run.record({ url })
}
