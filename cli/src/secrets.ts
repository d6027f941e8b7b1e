import { readFileSync } from 'node:fs'
import { promptSecret, readStdin } from './ask.ts'
import { CliError, exitCode, usageError } from './exit.ts'
import { type CliContext, isInteractive } from './world.ts'

const SECRET = /\br[ko]_[0-9A-Za-z]{20,}/

/** A secret in an argument is in the shell's history and in every process list already: say so, and do nothing with it. */
export function rejectSecretArguments(argv: readonly string[]): void {
  if (!argv.some((one) => SECRET.test(one))) return
  throw new CliError(exitCode.usage, 'A secret does not belong on the command line.', {
    code: 'secret_in_arguments',
    hint: 'It is in the history of your shell now: revoke it. `referral login` asks for a key, or reads it from standard input.',
  })
}

/** Where the signing secret of a webhook may come from. */
export interface SecretOptions {
  secretFile?: string
  secretStdin?: boolean
}

/** A webhook secret from a file, standard input, REFERRAL_WEBHOOK_SECRET, or a hidden prompt; undefined when nobody has one. */
export async function readSecret(context: CliContext, options: SecretOptions): Promise<string | undefined> {
  if (options.secretFile && options.secretStdin) throw usageError('Give --secret-file or --secret-stdin, not both.')
  if (options.secretFile) return requireNonEmpty(readSecretFile(options.secretFile), options.secretFile)
  if (options.secretStdin) return requireNonEmpty((await readStdin(context)).toString('utf8'), 'Standard input')
  return context.env.REFERRAL_WEBHOOK_SECRET || undefined
}

/** The same, asked for when somebody is there. */
export async function requireSecret(context: CliContext, options: SecretOptions): Promise<string> {
  const found = await readSecret(context, options)
  if (found) return found
  if (isInteractive(context))
    return requireNonEmpty(await promptSecret(context, 'Signing secret (hidden): '), 'The secret')
  throw usageError('No signing secret.', 'Set REFERRAL_WEBHOOK_SECRET, or use --secret-file or --secret-stdin.')
}

function readSecretFile(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw usageError(`${file} cannot be read: ${(cause as NodeJS.ErrnoException).code}.`)
  }
}

// The line break that every editor and echo leave at the end is no part of a secret.
function requireNonEmpty(text: string, what: string): string {
  const secret = text.replace(/\r?\n$/, '')
  if (!secret.trim()) throw usageError(`${what} holds no secret.`)
  return secret
}
