import type { Environment } from './environment.ts'

/** What a command sees of the machine it runs on. */
export interface CliContext {
  env: Environment
  stdin: NodeJS.ReadStream
  stdout: NodeJS.WriteStream
  stderr: NodeJS.WriteStream
  /** Milliseconds since 1970. */
  now: () => number
}

/** Whether somebody is there to be asked: a question goes to standard error, its answer comes from standard input. */
export const isInteractive = ({ stdin, stderr }: CliContext): boolean => Boolean(stdin.isTTY && stderr.isTTY)
