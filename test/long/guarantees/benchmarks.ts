import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { figure, type LongTest, type RunOptions, sized } from '../guarantee.ts'

const BENCH = fileURLToPath(new URL('../../bench/run.ts', import.meta.url))

/** Every goal that runs by itself, and every peer, once: whether they reach their goals is shown by a full run. */
async function run(options: RunOptions): Promise<string> {
  const short = ['--rounds', '1', '--seconds', '1', '--rows', String(sized(50_000, options)), '--only', 'test/engine']
  const output = (await bench(short)) + (await bench(['peers', ...short]))
  const count = (pattern: RegExp) => figure(output.match(pattern)?.length ?? 0)
  const missing = output.match(/^ +.*: not measured, .*$/gm) ?? []
  return `${count(/ (reached|missed)$/gm)} goals, ${count(/^peer /gm)} comparisons; ${missing.join('; ') || 'no peer is missing'}`
}

async function bench(args: string[]): Promise<string> {
  const child = spawn(process.execPath, [BENCH, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<number | null>((done) => child.once('close', done))
  const [code, output, problem] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
  if (code !== 0) throw new Error(`bench ${args.join(' ')} ended with ${code}: ${problem}${output.slice(-1000)}`)
  return output
}

export const guarantee: LongTest = {
  title: 'Every goal of the benchmark can run',
  minutes: 40,
  run,
}
