// Full: it starts other processes.
import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Deployment } from 'kubernetes-models/apps/v1/Deployment'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget'
import { Namespace } from 'kubernetes-models/v1/Namespace'
import { Service } from 'kubernetes-models/v1/Service'
import { expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { SECRET_SETTINGS } from '../server/src/config.ts'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const FOLDER = `${ROOT}deploy/kubernetes/`
const read = (file: string) => parse(readFileSync(FOLDER + file, 'utf8'))

const { resources, images } = read('kustomization.yaml')
// biome-ignore lint/suspicious/noExplicitAny: the schemas check the shape
const manifests: Record<string, any>[] = resources.map(read)
const rendered = spawnSync('kubectl', ['kustomize', FOLDER], { encoding: 'utf8' })
/** The manifests as kubectl applies them, where it is installed. */
const documents: typeof manifests = rendered.error
  ? manifests
  : parseAllDocuments(rendered.stdout).map((document) => document.toJS())
const deployment = documents.find(({ kind }) => kind === 'Deployment')!
const pod = deployment.spec.template
const [server] = pod.spec.containers

const MODELS = { Deployment, NetworkPolicy, PodDisruptionBudget, Namespace, Service }
const modelOf = (kind: string) => MODELS[kind as keyof typeof MODELS]
const fileOf = (manifest: (typeof manifests)[number]) => `kubernetes-models/${manifest.apiVersion}/${manifest.kind}`

test('kubectl renders every resource into the namespace', () => {
  if (rendered.error) return console.warn('skipped: the kustomization, because kubectl is not installed')
  expect(rendered.stderr).toBe('')
  expect(documents.map(({ kind }) => kind).sort()).toEqual(manifests.map(({ kind }) => kind).sort())
  const namespaces = documents.map(({ kind, metadata }) => (kind === 'Namespace' ? metadata.name : metadata.namespace))
  expect(new Set(namespaces)).toEqual(new Set(['referral']))
  const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'))
  expect(server.image).toBe(`ghcr.io/referral-program/referral-server:v${version}`)
  expect(images[0].newTag).toBe(`v${version}`)
})

const validate = (manifest: (typeof manifests)[number]) =>
  new (modelOf(manifest.kind) as new (data: object) => { validate: () => void })(manifest).validate()

test.each(documents)('the schema of Kubernetes accepts the $kind', (manifest) => {
  validate(manifest)
})

test('the schema rejects a wrong value', () => {
  const wrong = structuredClone(deployment)
  wrong.spec.replicas = 'three'
  expect(() => validate(wrong)).toThrow('replicas must be integer')
})

/** The compiler's messages for the manifests as object literals, which must not have unknown fields. */
async function unknownFields(of: typeof manifests): Promise<string> {
  const folder = mkdtempSync(join(import.meta.dirname, '.kubernetes-'))
  try {
    const lines = of.map((manifest, at) => {
      const { apiVersion, kind, ...rest } = manifest
      const type = `import('${fileOf(manifest)}').I${kind}`
      return `export const manifest${at}: ${type} = ${JSON.stringify({ apiVersion, kind, ...rest })}`
    })
    writeFileSync(join(folder, 'manifests.ts'), lines.join('\n'))
    const options =
      '--noEmit --strict --skipLibCheck --module nodenext --target es2024 --types node --ignoreConfig'.split(' ')
    const tsc = join(ROOT, 'node_modules/.bin/tsc')
    return await promisify(execFile)(tsc, [...options, join(folder, 'manifests.ts')]).then(
      () => '',
      ({ stdout }: { stdout: string }) => stdout,
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

test('the manifests have no unknown fields', async () => {
  const wrong = structuredClone(deployment)
  wrong.spec.template.spec.containers[0].readinesProbe = {}
  const messages = (await unknownFields([...documents, wrong])).trim().split('\n')
  expect(messages).toEqual([expect.stringMatching(/^\S+manifests\.ts\(6,\d+\): .+"readinesProbe"' does not exist/)])
}, 60_000)

test('three pods run without privileges, with a read-only root, spread over machines and zones', () => {
  expect(deployment.spec.replicas).toBe(3)
  expect(pod.spec).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false })
  expect(pod.spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
  expect(server.securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  })
  const user = /^USER (\d+):(\d+)$/m
    .exec(readFileSync(`${ROOT}deploy/Dockerfile`, 'utf8'))
    ?.slice(1)
    .map(Number)
  expect([pod.spec.securityContext.runAsUser, pod.spec.securityContext.runAsGroup]).toEqual(user)
  const keys = pod.spec.topologySpreadConstraints.map(({ topologyKey }: { topologyKey: string }) => topologyKey)
  expect(keys).toEqual(['kubernetes.io/hostname', 'topology.kubernetes.io/zone'])
})

test('every selector matches the pods, and every port is the port of the server', () => {
  const labels = pod.metadata.labels
  const of = (kind: string) => documents.find((one) => one.kind === kind)!.spec
  expect(deployment.spec.selector.matchLabels).toEqual(labels)
  expect(of('Service').selector).toEqual(labels)
  expect(of('PodDisruptionBudget').selector.matchLabels).toEqual(labels)
  expect(of('NetworkPolicy').podSelector.matchLabels).toEqual(labels)
  expect(server.ports).toEqual([{ name: 'http', containerPort: 8787 }])
  const ports = [of('Service').ports[0].targetPort, of('NetworkPolicy').ingress[0].ports[0].port]
  const probes = [server.startupProbe, server.livenessProbe, server.readinessProbe].map((probe) => probe.httpGet.port)
  expect(new Set([...ports, ...probes])).toEqual(new Set(['http']))
})

test('secrets come from files, and the grace period covers the shutdown', () => {
  const [mount] = server.volumeMounts
  const env = Object.fromEntries(
    server.env.map(({ name, value }: { name: string; value: string }) => [name, value] as const),
  )
  const secrets = Object.keys(env).filter((name) => name.endsWith('_FILE'))
  expect(secrets).toContain('DATABASE_URL_FILE')
  expect(
    secrets.map((name) => name.replace(/_FILE$/, '')).filter((name) => !SECRET_SETTINGS.includes(name as 'REDIS_URL')),
  ).toEqual([])
  for (const name of secrets) expect(env[name]).toMatch(new RegExp(`^${mount.mountPath}/[a-z-]+$`))
  // Five seconds for requests, and ten to drain the outbox.
  const shutdown = Number(env.REFERRAL_SHUTDOWN_DELAY_SECONDS) + 15
  expect(pod.spec.terminationGracePeriodSeconds).toBeGreaterThan(shutdown)
  const { periodSeconds, failureThreshold } = server.readinessProbe
  expect(Number(env.REFERRAL_SHUTDOWN_DELAY_SECONDS)).toBeGreaterThan(periodSeconds * failureThreshold)
})
