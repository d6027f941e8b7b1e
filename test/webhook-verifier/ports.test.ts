// Full: it starts other processes.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { vectors } from './vectors.ts'

const ports = join(import.meta.dirname, '../../examples/receivers')
const runners = join(import.meta.dirname, 'ports')
const scratch = mkdtempSync(join(tmpdir(), 'ports-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const run = (command: string, args: string[], input = '') => {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: scratch, input, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${stderr}`)
  return stdout
}

interface Port {
  language: string
  tools: string[]
  /** Compiles if necessary and returns one digit per vector. */
  verify: (input: string) => string
}

const scripted = (language: string, tool: string, extension: string): Port => ({
  language,
  tools: [tool],
  verify: (input) => run(tool, [join(runners, `run.${extension}`), join(ports, `verify.${extension}`)], input),
})

const all: Port[] = [
  scripted('Python', 'python3', 'py'),
  scripted('Ruby', 'ruby', 'rb'),
  scripted('PHP', 'php', 'php'),
  {
    language: 'Go',
    tools: ['go'],
    verify: (input) => {
      mkdirSync(join(scratch, 'webhook'))
      cpSync(join(ports, 'verify.go'), join(scratch, 'webhook/verify.go'))
      cpSync(join(runners, 'run.go'), join(scratch, 'main.go'))
      writeFileSync(join(scratch, 'go.mod'), 'module vectors\n\ngo 1.18\n')
      return run('go', ['run', '.'], input)
    },
  },
  {
    language: 'Java',
    tools: ['javac', 'java'],
    verify: (input) => {
      run('javac', ['-d', scratch, join(ports, 'WebhookVerifier.java'), join(runners, 'Run.java')])
      return run('java', ['-XX:TieredStopAtLevel=1', '-cp', scratch, 'Run'], input)
    },
  },
  {
    language: 'C#',
    tools: ['mcs', 'mono'],
    verify: (input) => {
      run('mcs', [`-out:${join(scratch, 'run.exe')}`, join(ports, 'WebhookVerifier.cs'), join(runners, 'Run.cs')])
      return run('mono', [join(scratch, 'run.exe')], input)
    },
  },
]

const hex = (text: string) => Buffer.from(text, 'utf8').toString('hex')
const input = [...vectors.accept, ...vectors.reject]
  .map(({ body, signature, secret }) => `${body} ${hex(signature)} ${hex(secret)}\n`)
  .join('')
const expected = [
  ...vectors.accept.map(({ name }) => `accept ${name}`),
  ...vectors.reject.map(({ name }) => `reject ${name}`),
]

const isMissing = (tool: string) => spawnSync('which', [tool]).status !== 0

describe('the verifiers in other languages agree with every vector', () => {
  for (const { language, tools, verify } of all) {
    const missing = tools.filter(isMissing)
    if (missing.length)
      console.warn(`skipped: the ${language} verifier, because ${missing.join(', ')} is not installed`)
    it.skipIf(missing.length > 0)(
      language,
      () => {
        const digits = verify(input).trim().split('\n')
        const got = [...vectors.accept, ...vectors.reject].map(
          ({ name }, index) => `${digits[index] === '1' ? 'accept' : 'reject'} ${name}`,
        )
        expect(got).toEqual(expected)
      },
      60_000,
    )
  }
})
