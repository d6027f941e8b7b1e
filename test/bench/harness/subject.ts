import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../support/process.ts'

const PROBE = new URL('./probe.mjs', import.meta.url).href

export interface Usage {
  cpuMicros: number
  rssBytes: number
}

/** A measured server in a separate process. */
export interface Subject {
  name: string
  url: string
  usage: () => Promise<Usage>
  /** Queries its probe. */
  ask: (question: 'startProfile' | 'stopProfile') => Promise<unknown>
  stop: () => Promise<void>
}

interface LaunchOptions {
  args?: string[]
  env?: Record<string, string>
}

const fileOf = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** The server as shipped, with everything enabled except the demo shop. */
export const launchOurs = (env: Record<string, string>): Promise<Subject> =>
  launch('ours', fileOf('../../../server/start.mjs'), {
    args: ['serve'],
    env: { REFERRAL_DEMO: '0', REFERRAL_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'), ...env },
  })

/** Another server to compare with, such as `floor/list.ts`. */
export const launchOther = (name: string, file: string, env: Record<string, string>): Promise<Subject> =>
  launch(name, fileOf(`../${file}`), { env })

async function launch(name: string, file: string, { args = [], env = {} }: LaunchOptions): Promise<Subject> {
  const port = String(await freePort())
  const plain = { PATH: process.env.PATH ?? '', NODE_ENV: 'production', NODE_NO_WARNINGS: '1', PORT: port }
  const child = spawn(process.execPath, ['--import', PROBE, file, ...args], {
    env: { ...plain, ...env },
    // The log is written as usual, and discarded.
    stdio: ['ignore', 'pipe', process.env.BENCH_LOG ? 'inherit' : 'ignore', 'ipc'],
  })
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  await listening(child, name)
  const died = new Promise<never>((_, fail) => {
    child.once('exit', (code) => fail(new Error(`${name} ended with ${code} under the load`)))
  })
  died.catch(() => {})
  const ask = async (question: string) => {
    const answered = once(child, 'message').then(([answer]) => answer)
    child.send(question)
    return Promise.race([answered, died])
  }
  return {
    name,
    url: `http://127.0.0.1:${port}`,
    usage: () => ask('usage') as Promise<Usage>,
    ask,
    stop: async () => {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
}

function listening(child: ChildProcess, name: string): Promise<void> {
  return new Promise((up, fail) => {
    let output = ''
    child.stdout?.on('data', (chunk) => {
      output += chunk
      if (/^listening on /m.test(output)) up()
    })
    child.once('exit', (code) => fail(new Error(`${name} ended with ${code} before it listened: ${output}`)))
  })
}
