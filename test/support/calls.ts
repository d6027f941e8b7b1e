import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningServer } from './process.ts'

export interface Answer {
  status: number
  headers: Headers
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: replies of every shape
  body: any
}

/** One request to one instance. @throws when there is no response. */
export async function call(
  server: Pick<RunningServer, 'url'>,
  key: string,
  [method, path, body, idempotencyKey]: [method: string, path: string, body?: object | string, idempotencyKey?: string],
): Promise<Answer> {
  const headers: Record<string, string> = { Authorization: `Bearer ${key}` }
  if (idempotencyKey) headers['Idempotency-Key'] = idempotencyKey
  const text = typeof body === 'object' ? JSON.stringify(body) : body
  const response = await fetch(`${server.url}${path}`, { method, headers, body: text })
  const said = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    text: said,
    body: said.startsWith('{') ? JSON.parse(said) : {},
  }
}

/** An approved affiliate with a code, in a program that approves orders. */
export async function withAffiliate(server: Pick<RunningServer, 'url'>, key: string, code = 'NISA16') {
  const program = await call(server, key, ['POST', '/api/v1/programs', { name: 'P', autoApproveOrder: true }])
  const email = `${code}@example.com`
  const made = await call(server, key, [
    'POST',
    '/api/v1/affiliates',
    { email, name: code, campaignId: program.body.data.id },
  ])
  const { id } = made.body.data
  await call(server, key, ['POST', '/api/v1/coupons', { affiliateId: id, code }])
  const approved = await call(server, key, ['PATCH', `/api/v1/affiliates?id=${id}`, { status: 'APPROVED' }])
  if (approved.status !== 200) throw new Error(`the affiliate was not made: ${approved.text}`)
  return { id, programId: program.body.data.id as string }
}

/** One metric of one instance; 0 when it has not been counted yet. */
export async function metric(server: RunningServer, name: string): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text()
  const line = text.split('\n').find((one) => one.startsWith(`${name} `))
  return line ? Number(line.slice(name.length + 1)) : 0
}

/** Waits until a condition is true. */
export async function until(holds: () => boolean | Promise<boolean>, ms: number, what: string): Promise<void> {
  const deadline = performance.now() + ms
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`${what}: not within ${ms} ms`)
    await sleep(50)
  }
}
