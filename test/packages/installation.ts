import type { ChildProcess } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../support/process.ts'
import type { NpmUser } from './npm-user.ts'

const JOB = fileURLToPath(new URL('job/', import.meta.url))
const SERVER_README = new URL('../../server/README.md', import.meta.url)

/** The published packages, installed as their READMEs say. */
export interface Installation {
  /** A project with all packages, and the test of the server's README. */
  project: string
  /** The bin folder of the global installation of the CLI. */
  globalBin: string
}

/** @param node the folder of the Node.js to install with */
export async function install(user: NpmUser, node?: string): Promise<Installation> {
  const [project, prefix] = [user.project('project'), join(user.path, 'global')]
  cpSync(JOB, project, { recursive: true })
  const [, example = ''] = /^```js\n(.*?)^```/ms.exec(readFileSync(SERVER_README, 'utf8')) ?? []
  writeFileSync(join(project, 'readme.test.mjs'), example)
  const packages = ['@referral/sdk', '@referral/webhook-verifier', '@referral/server', '@referral/cli']
  await user.run(['npm', 'install', '--prefer-offline', ...packages], { folder: project, node })
  await user.run(['npm', 'install', '--global', '--prefix', prefix, '@referral/cli'], { folder: user.path, node })
  return { project, globalBin: join(prefix, 'bin') }
}

/** What the main job produced. */
export interface JobResult {
  order: { commission: { id: string; amountCents: number; status: string }; event: object; analytics: object }
  batch: { id: string; totals: { netPayableCents: number } }
  paid: object
  /** HTTP status and content type by path. */
  pages: Record<string, string>
}

/**
 * Starts the server with npx, reports an order with the SDK, verifies its webhook, and pays it with the global CLI.
 *
 * @param nodes the folders of the Node.js of the server and the CLI, and of the SDK and the verifier
 */
export async function runJob(
  user: NpmUser,
  { project, globalBin }: Installation,
  { node, sdkNode = node }: { node: string | undefined; sdkNode?: string | undefined },
): Promise<JobResult> {
  const [port, receiver] = [String(await freePort()), String(await freePort())]
  // The server keeps its data in the current folder.
  const shop = user.project(`shop-${port}`)
  const env = { PORT: port, REFERRAL_WEBHOOK_ALLOW: `127.0.0.1:${receiver}`, LOG_LEVEL: 'error' }
  const server = user.start(['npx', '-y', '--prefer-offline', '@referral/server'], { folder: shop, node, env })
  try {
    await listening(server)
    const demo = readDemoEnv(shop)
    const reported = await user.run(['node', 'order.mjs'], {
      folder: project,
      node: sdkNode,
      env: { ...demo, RECEIVER_PORT: receiver },
    })
    const referral = async (...args: string[]) =>
      JSON.parse(await user.run([join(globalBin, 'referral'), ...args, '--json'], { folder: shop, node }))
    const batch = await referral('payouts', 'create', '--month', 'this')
    const total = String(batch.totals.netPayableCents)
    const paid = await referral('payouts', 'pay', batch.id, '--yes', '--expect-total', total)
    return { order: JSON.parse(reported), batch, paid, pages: await pagesOf(`http://127.0.0.1:${port}`) }
  } finally {
    await stop(server)
  }
}

const readDemoEnv = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readFileSync(join(folder, '.referral/demo.env'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split(/=(.*)/s).slice(0, 2)),
  )

/** Fetches what the server reads from files of its package. */
async function pagesOf(baseUrl: string): Promise<Record<string, string>> {
  const signIn = await (await fetch(`${baseUrl}/admin/sign-in`)).text()
  const style = /\/admin\/assets\/\w+-admin\.css/.exec(signIn)?.[0] ?? '/admin/assets/missing'
  const font =
    /href="(\/admin\/assets\/\w+-inter-latin-wght-normal\.woff2)"/.exec(signIn)?.[1] ?? '/admin/assets/missing'
  const paths = { style, font, document: '/openapi.yaml', docs: '/api/v1/docs', reference: '/docs/redoc.js' }
  const pages = Object.entries(paths).map(async ([name, path]) => {
    const { status, headers } = await fetch(baseUrl + path)
    return [name, `${status} ${headers.get('Content-Type')?.split(';')[0]}`]
  })
  return Object.fromEntries(await Promise.all(pages))
}

function listening(server: ChildProcess): Promise<void> {
  let output = ''
  return new Promise((up, fail) => {
    const read = (chunk: Buffer) => {
      output += chunk
      if (/^listening on /m.test(output)) up()
    }
    server.stdout?.on('data', read)
    server.stderr?.on('data', read)
    server.once('close', (code) => fail(new Error(`npx @referral/server exited with ${code}:\n${output}`)))
  })
}

async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  const ended = new Promise((done) => server.once('close', done))
  // The group: npx, its shell, and the server.
  process.kill(-(server.pid ?? 0), 'SIGTERM')
  await ended
}
