import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { freePort } from './process.ts'

/** Why there is no Redis on this machine, or undefined. */
export function whyNoRedis(): string | undefined {
  return spawnSync('redis-server', ['--version']).status === 0 ? undefined : 'there is no redis-server on this machine'
}

export interface TestRedis {
  url: string
  start: () => Promise<void>
  stop: () => Promise<void>
  /** Keeps its connections open but no longer responds. */
  freeze: () => void
  thaw: () => void
}

/** A throwaway Redis on a free loopback port that keeps nothing. */
export async function createRedis(): Promise<TestRedis> {
  const port = await freePort()
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  let child: ChildProcess | undefined
  const redis: TestRedis = {
    url: `redis://127.0.0.1:${port}`,
    start: async () => {
      const starting = spawn('redis-server', options, { stdio: ['ignore', 'pipe', 'inherit'] })
      child = starting
      await new Promise<void>((up, fail) => {
        starting.stdout?.on('data', (chunk) => String(chunk).includes('Ready to accept connections') && up())
        starting.once('exit', (code) => fail(new Error(`redis-server ended with ${code}`)))
      })
    },
    stop: async () => {
      const ending = child
      child = undefined
      if (!ending || ending.exitCode !== null) return
      const ended = new Promise((done) => ending.once('exit', done))
      ending.kill('SIGKILL')
      await ended
    },
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
  }
  await redis.start()
  return redis
}
