import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { until } from '../../support/calls.ts'
import { createCluster } from '../../support/postgres-cluster.ts'
import { freePort } from '../../support/process.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { buildImage, type ContainerImage } from '../container-image.ts'
import { figure, type LongTest } from '../guarantee.ts'

const MAX_BYTES = 200e6
const DEPLOYMENT = fileURLToPath(new URL('../../../deploy/kubernetes/deployment.yaml', import.meta.url))
/** Callers that send orders while the server stops, each one at a time. */
const CALLERS = 8

interface Running {
  url: string
  /** Runs a command in the container. */
  exec: (...command: string[]) => Promise<string>
  isHealthy: () => Promise<boolean>
  stop: () => Promise<number | null>
}

async function start(image: ContainerImage, options: string[]): Promise<Running> {
  const port = await freePort()
  const name = `server-${port}`
  const child = image.run(name, ['--env', `PORT=${port}`, '--env', 'HOST=127.0.0.1', ...options])
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => {
      output += chunk
    })
  const ended = new Promise<number | null>((done) => child.once('close', done))
  const url = `http://127.0.0.1:${port}`
  const isReady = async () => {
    if (child.exitCode !== null) throw new Error(`The container exited with ${child.exitCode}: ${output}`)
    const response = await fetch(`${url}/readyz`).catch(() => undefined)
    return response?.status === 200
  }
  await until(isReady, 60_000, 'the container is ready')
  return {
    url,
    exec: (...command) => image.podman('exec', name, ...command),
    isHealthy: () =>
      image.podman('healthcheck', 'run', name).then(
        () => true,
        () => false,
      ),
    stop: async () => {
      await image.podman('stop', '--time', '30', name)
      return ended
    },
  }
}

/** Reports an order. Returns the id of its commission. */
async function report(url: string, key: string, order: string): Promise<string> {
  const response = await fetch(`${url}/api/v1/events`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', 'Idempotency-Key': order },
    body: JSON.stringify({ externalOrderId: order, amountCents: 10_000, couponCode: 'NISA16' }),
  })
  const body = await response.json()
  assert.ok(response.ok, JSON.stringify(body))
  assert.equal(body.commission.amountCents, 1_600)
  return body.commission.id
}

async function checkConfiguration(image: ContainerImage): Promise<number> {
  const [inspected] = JSON.parse(await image.podman('image', 'inspect', 'localhost/referral-server'))
  const { User, StopSignal, Volumes } = inspected.Config
  assert.deepEqual([User, StopSignal, Volumes], ['1000:1000', 'SIGTERM', { '/data': {} }])
  assert.ok(inspected.Healthcheck.Test)
  assert.ok(inspected.Size < MAX_BYTES, `the image has ${inspected.Size} bytes`)
  return inspected.Size
}

/** SQLite on a volume, as `docker run --read-only --volume data:/data`. */
async function checkVolume(image: ContainerImage): Promise<number> {
  await image.podman('volume', 'create', 'data')
  const options = ['--volume', 'data:/data', '--env', 'REFERRAL_DEMO=1']
  const server = await start(image, options)
  const demo = await server.exec('node', '-p', READ('/data/demo.env'))
  const [, key = ''] = /^REFERRAL_API_KEY=(.+)$/m.exec(demo) ?? []
  const [, shop = ''] = /^REFERRAL_SHOP_ID=(.+)$/m.exec(demo) ?? []
  // With 1,000 requests per minute.
  await server.exec('node', 'server/start.mjs', 'shop', 'set', shop, '--plan', 'ENTERPRISE')
  assert.ok(await server.isHealthy())
  assert.match(await server.exec('node', 'server/start.mjs', 'shop', 'create', '--name', 'Hats'), /^Shop shp_/)
  assert.equal((await server.exec('node', '-p', 'process.getuid()')).trim(), '1000')
  await assert.rejects(server.exec('node', '-e', `fs.writeFileSync('/app/x', '')`), /EROFS/)
  await assert.rejects(server.exec('sh', '-c', 'true'), /not found/)

  const commissions = new Map<string, string>()
  let isStopping = false
  const callers = Array.from({ length: CALLERS }, async (_, caller) => {
    for (let n = 0; ; n++) {
      const order = `${caller}-${n}`
      try {
        commissions.set(order, await report(server.url, key, order))
      } catch (error) {
        // The connection was closed. The guarantee on shutdown covers what happens to requests in flight.
        if (isStopping && error instanceof TypeError) return
        throw error
      }
    }
  })
  await until(() => commissions.size > 50, 30_000, '50 orders')
  isStopping = true
  assert.equal(await server.stop(), 0, 'exit code after SIGTERM')
  await Promise.all(callers)

  const restarted = await start(image, options)
  for (const [order, commission] of [...commissions].slice(-20))
    assert.equal(await report(restarted.url, key, order), commission, `order ${order} after the restart`)
  assert.equal(await restarted.stop(), 0)
  return commissions.size
}

/** Three servers with the environment of deploy/kubernetes: secrets from files, PostgreSQL, and no volume. */
async function checkPods(image: ContainerImage): Promise<number> {
  const cluster = await createCluster()
  const folder = temporaryFolder()
  try {
    const { spec } = parse(readFileSync(DEPLOYMENT, 'utf8'))
    const [container] = spec.template.spec.containers
    const [mount] = container.volumeMounts
    const env: { name: string; value: string }[] = container.env.filter(
      ({ name }: { name: string }) => !/REDIS/.test(name),
    )
    const secrets = {
      'database-url': cluster.url,
      'encryption-key': Buffer.alloc(32, 7).toString('base64'),
      'metrics-token': 'a token for metrics',
    }
    const host = join(folder.path, 'secrets')
    mkdirSync(host, { mode: 0o755 })
    for (const [name, content] of Object.entries(secrets)) writeFileSync(join(host, name), `${content}\n`)
    const options = [
      ...env.flatMap(({ name, value }) => ['--env', `${name}=${value}`]),
      ...['--volume', `${host}:${mount.mountPath}:ro`],
    ]
    const pods = await Promise.all(Array.from({ length: spec.replicas }, () => start(image, options)))
    const [first, second] = pods
    assert.ok(first && second)
    const referral = (...args: string[]) => first.exec('node', 'server/start.mjs', ...args)
    const [shop = ''] = /shp_\w+/.exec(await referral('shop', 'create', '--name', 'Hats', '--currency', 'USD')) ?? []
    assert.match(await referral('key', 'create', '--shop', shop, '--label', 'Checkout', '--scope', 'all'), /ak_|rk_|_/)
    for (const pod of pods) assert.ok(await pod.isHealthy())
    const metrics = await fetch(`${second.url}/metrics`, { headers: { Authorization: 'Bearer a token for metrics' } })
    assert.equal(metrics.status, 200)
    const stopping = performance.now()
    // The first pod still serves during the delay, and is no longer ready.
    const stopped = first.stop()
    await until(async () => (await fetch(`${first.url}/readyz`)).status === 503, 5_000, 'a stopping pod is not ready')
    assert.equal((await fetch(`${first.url}/healthz`)).status, 200)
    assert.equal((await fetch(`${second.url}/readyz`)).status, 200)
    assert.equal(await stopped, 0)
    const duration = performance.now() - stopping
    assert.ok(duration < spec.template.spec.terminationGracePeriodSeconds * 1000)
    await Promise.all(pods.slice(1).map((pod) => pod.stop()))
    return duration
  } finally {
    await cluster.remove()
    folder.remove()
  }
}

const READ = (path: string) => `fs.readFileSync('${path}', 'utf8')`

export const guarantee: LongTest = {
  title: 'The container image builds and runs read-only as an unprivileged user',
  minutes: 30,
  run: async () => {
    const image = await buildImage()
    try {
      const bytes = await checkConfiguration(image)
      const orders = await checkVolume(image)
      const stopMs = await checkPods(image)
      return [
        `built on ${image.base}: ${Math.round(bytes / 1e6)} MB`,
        `${figure(orders)} orders reported until SIGTERM, kept on the volume`,
        `three servers with the environment of deploy/kubernetes, one stopped in ${(stopMs / 1000).toFixed(1)} s`,
      ].join('; ')
    } finally {
      await image.remove()
    }
  },
}
