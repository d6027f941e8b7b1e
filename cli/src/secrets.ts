import { readFileSync } from 'node:fs'
import { askHidden, readStdin } from './ask.ts'
import { CliError, exit, usage } from './exit.ts'
import { isInteractive, type World } from './world.ts'

const SECRET = /\br[ko]_[0-9A-Za-z]{20,}/

/** A secret in an argument is in the shell's history and in every process list already: say so, and do nothing with it. */
export function refuseSecretsIn(argv: readonly string[]): void {
  if (!argv.some((one) => SECRET.test(one))) return
  throw new CliError(exit.usage, 'A secret does not belong on the command line.', {
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
export async function readSecret(world: World, options: SecretOptions): Promise<string | undefined> {
  if (options.secretFile && options.secretStdin) throw usage('Give --secret-file or --secret-stdin, not both.')
  if (options.secretFile) return nonEmpty(readSecretFile(options.secretFile), options.secretFile)
  if (options.secretStdin) return nonEmpty((await readStdin(world)).toString('utf8'), 'Standard input')
  return world.env.REFERRAL_WEBHOOK_SECRET || undefined
}

/** The same, asked for when somebody is there. */
export async function requireSecret(world: World, options: SecretOptions): Promise<string> {
  const found = await readSecret(world, options)
  if (found) return found
  if (isInteractive(world)) return nonEmpty(await askHidden(world, 'Signing secret (hidden): '), 'The secret')
  throw usage('No signing secret.', 'Set REFERRAL_WEBHOOK_SECRET, or use --secret-file or --secret-stdin.')
}

function readSecretFile(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw usage(`${file} cannot be read: ${(cause as NodeJS.ErrnoException).code}.`)
  }
}

// The line break that every editor and echo leave at the end is no part of a secret.
function nonEmpty(text: string, what: string): string {
  const secret = text.replace(/\r?\n$/, '')
  if (!secret.trim()) throw usage(`${what} holds no secret.`)
  return secret
}
