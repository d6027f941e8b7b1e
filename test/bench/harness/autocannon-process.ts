import { appendFileSync } from 'node:fs'
import autocannon from 'autocannon'
import type { Job, Load, Template } from './load.ts'

process.once('message', async (job: Job) => {
  process.send?.(await run(job))
})

async function run({ url, template, keys, connections, seconds, from, record }: Job): Promise<Load> {
  let count = from
  let turn = 0
  const micros: number[] = []
  const lines: string[] = []
  const next = () => filled(template, keys[turn++ % keys.length] ?? '', String(++count))
  const onResponse = record ? (status: number, body: string) => lines.push(`${status} ${body}\n`) : undefined
  const started = performance.now()
  const { errors, non2xx, timeouts } = await new Promise<autocannon.Result>((resolve, reject) => {
    const requests = [{ ...next(), setupRequest: (request: object) => ({ ...request, ...next() }), onResponse }]
    const options = { url, connections, duration: seconds, sampleInt: 100, requests }
    const running = autocannon(options, (error, result) => (error ? reject(error) : resolve(result)))
    running.on('response', (_client, _status, _bytes, ms) => micros.push(ms * 1000))
  })
  if (record) appendFileSync(record, lines.join(''))
  micros.sort((a, b) => a - b)
  const at = (part: number) => micros[Math.floor(micros.length * part)] ?? 0
  const perSecond = (micros.length / (performance.now() - started)) * 1000
  return {
    requests: micros.length,
    perSecond,
    p50Micros: at(0.5),
    p99Micros: at(0.99),
    wrong: errors + non2xx + timeouts,
  }
}

const filled = (template: Template, key: string, n: string) => {
  const put = (text: string) =>
    text
      .replaceAll('<key>', key)
      .replaceAll('<n>', n)
      .replaceAll('<page>', String((Number(n) % 19) + 1))
  const headers = Object.fromEntries(Object.entries(template.headers).map(([name, value]) => [name, put(value)]))
  return { method: template.method, path: put(template.path), headers, body: template.body && put(template.body) }
}
