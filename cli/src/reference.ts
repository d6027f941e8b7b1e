import type { Command } from 'commander'
import { exitCodeMeanings } from './exit.ts'
import { type CommandInfo, describeCommands, describeOption } from './tree.ts'

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;')

const optionTable = (options: CommandInfo['options']): string =>
  options.length === 0
    ? ''
    : `\n| option | meaning |\n|---|---|\n${options.map((one) => `| \`${one.flags.replaceAll('|', '\\|')}\` | ${cell(one.description)}${one.choices.length ? `: ${one.choices.join(', ')}` : ''} |\n`).join('')}`

const section = (command: CommandInfo): string => `### referral ${command.usage}

${sentence(command.summary)}${command.owner ? ' Needs an owner token.' : ''}${command.details ? `\n\n${command.details}` : ''}
${optionTable(command.options)}${command.output ? `\nPrints ${outputOf(command.output)}.\n` : ''}${
  command.examples.length ? `\n\`\`\`sh\n${command.examples.join('\n')}\n\`\`\`\n` : ''
}`

const sentence = (text: string) => `${text[0]?.toUpperCase()}${text.slice(1)}.`

const outputOf = (name: string) =>
  name === 'Text' ? 'text' : name.endsWith('[]') ? `a list of \`${name.slice(0, -2)}\`` : `one \`${name}\``

/** REFERENCE.md, made from the command tree. */
export function reference(program: Command): string {
  const commands = describeCommands(program)
  const exits = Object.entries(exitCodeMeanings).map(([code, meaning]) => `| ${code} | ${meaning} |\n`)
  return `# referral

<!-- Made from the command tree by scripts/generate.ts; change it there. -->

Data goes to standard output, everything else to standard error. On a terminal lists are tables; in a pipe they are
tab-separated lines without a header. \`--json\` and \`--output\` choose another form. The shapes that \`--json\` prints are
components of \`openapi.yaml\`, or stand in \`schemas.json\`.

## Options of every command
${optionTable(program.options.map(describeOption))}
## Exit codes

| code | meaning |
|---|---|
${exits.join('')}
On failure standard output is empty. With \`--json\` standard error then holds one object
\`{ status, code, message, hint, requestId }\`. A report (of an import, \`doctor\`, \`webhooks check\` or an export) is printed also when it is bad.

## Where credentials come from

\`--profile\`, else \`REFERRAL_API_KEY\`, \`REFERRAL_OWNER_TOKEN\` and \`REFERRAL_BASE_URL\`, else the current profile (\`referral login\`),
else the demo shop of this checkout. A key is only ever sent to the address it was stored with. Secrets are read from a hidden prompt,
standard input, the environment or a file, never from an argument.

## Commands

${commands.map(section).join('\n')}`
}
