import { createInterface } from 'node:readline/promises'
import { CliError, exit } from './exit.ts'
import { isInteractive, type World } from './world.ts'

const interrupted = () => new CliError(exit.interrupted, 'Interrupted.', { code: 'interrupted' })

/** A line that somebody types after the question. */
export async function askLine(world: World, question: string): Promise<string> {
  const lines = createInterface({ input: world.stdin, output: world.stderr })
  const stopped = new AbortController()
  lines.once('SIGINT', () => stopped.abort())
  lines.once('close', () => stopped.abort())
  try {
    return await lines.question(question, { signal: stopped.signal })
  } catch (error) {
    if (stopped.signal.aborted) throw interrupted()
    throw error
  } finally {
    lines.close()
  }
}

/** A secret that is typed or pasted; nothing of it is shown. */
export function askHidden(world: World, question: string): Promise<string> {
  const { stdin, stderr } = world
  return new Promise((resolve, reject) => {
    let typed = ''
    const finish = (end: () => void) => {
      stdin.off('data', read)
      stdin.setRawMode(false)
      stdin.pause()
      stderr.write('\n')
      end()
    }
    const read = (chunk: Buffer) => {
      for (const letter of chunk.toString('utf8')) {
        if (letter === '\r' || letter === '\n') return finish(() => resolve(typed.trim()))
        if (letter === '\u0003' || letter === '\u0004') return finish(() => reject(interrupted()))
        typed = letter === '\u007f' || letter === '\b' ? typed.slice(0, -1) : typed + letter
      }
    }
    stderr.write(question)
    stdin.setRawMode(true)
    stdin.on('data', read)
    stdin.resume()
  })
}

/** Everything on standard input. */
export async function readStdin({ stdin }: World): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stdin) chunks.push(Buffer.from(chunk as Uint8Array))
  return Buffer.concat(chunks)
}

export const declined = (message: string, hint?: string) =>
  new CliError(exit.confirmation, message, { code: 'confirmation_required', hint })

/** Yes by flag or by a typed y. Without a terminal nobody is asked: the flag is needed. */
export async function confirm(world: World, question: string, yes: boolean | undefined): Promise<void> {
  if (yes) return
  if (!isInteractive(world))
    throw declined('This needs a confirmation, and there is no terminal to ask on.', 'Add --yes.')
  const answer = await askLine(world, `${question} [y/N] `)
  if (!/^y(es)?$/i.test(answer.trim())) throw declined('Declined. Nothing was changed.')
}
