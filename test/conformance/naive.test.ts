// Full: it starts a server for each defect.
import { expect, onTestFinished } from 'vitest'
import { test } from '../support/test.ts'
import { COMPANIONS, DEFECTS, NAIVE_DEFECTS, resetDefects } from './naive/defects.ts'
import { type NaiveServer, startNaiveServer } from './naive/server.ts'
import { type ConformanceOptions, type ConformanceReport, checks, runConformance } from './src/index.ts'

// SQLite only: the rules are tested here, not the server.

const naiveOptions = ({ url, keys: [key, otherKey], ownerToken }: NaiveServer): ConformanceOptions => ({
  baseUrl: url,
  key,
  otherKey,
  ownerToken,
  changeSettings: true,
  concurrency: 32,
  webhookTimeoutMs: 1000,
})
/** A check that could not create what it needs has tested nothing. */
const failedOf = ({ checks }: ConformanceReport) =>
  checks.filter(({ status, isSetup }) => status === 'failed' && !isSetup).map(({ name }) => name)

test('a naive server fails most rules, and every other rule has a defect that breaks it', async () => {
  const naive = await startNaiveServer()
  onTestFinished(naive.close)
  const failed = failedOf(await runConformance(naiveOptions(naive)))
  expect(failed.length).toBeGreaterThanOrEqual(400)
  const seenFailing = new Set([...failed, ...Object.keys(DEFECTS), ...Object.keys(NAIVE_DEFECTS)])
  const passed = checks.map(({ name }) => name).filter((name) => !seenFailing.has(name))
  // The naive server mixes up concurrent requests, so the setup of a check may fail. Alone, it fails for its rule.
  const failedAlone = passed.length ? failedOf(await runConformance({ ...naiveOptions(naive), only: passed })) : []
  expect(passed.filter((name) => !failedAlone.includes(name))).toEqual([])
  // Checks that fail leave subscriptions and affiliates, too.
  const kept = await Promise.all(
    ['webhooks', 'affiliates'].map(async (name) => {
      const headers = { Authorization: `Bearer ${naive.keys[0]}` }
      return ((await (await fetch(`${naive.url}/api/v1/${name}`, { headers })).json()) as { data: unknown[] }).data
    }),
  )
  expect(kept).toEqual([[], []])
}, 60_000)

test.for(Object.entries(NAIVE_DEFECTS))('%s fails on a naive server with the defect %s', async ([name, defect]) => {
  const naive = await startNaiveServer([defect])
  onTestFinished(naive.close)
  expect(failedOf(await runConformance({ ...naiveOptions(naive), only: [name] }))).toEqual([name])
})

test.for(Object.keys(DEFECTS))('%s fails when its rule is broken', async (name, { server }) => {
  resetDefects()
  const defect = DEFECTS[name]!
  const other = await server.createShop()
  for (const { key } of [server.shop, other])
    await server.request('POST', '/api/v1/programs', { key, body: { name: 'Friends' } })
  const report = await runConformance({
    baseUrl: 'http://test',
    key: server.shop.key,
    otherKey: other.key,
    ownerToken: server.shop.ownerToken,
    changeSettings: true,
    only: [name, ...(COMPANIONS[name] ? [COMPANIONS[name]] : [])],
    fetch: defect(async (url, init) => server.app.fetch(new Request(url, init))),
  })
  expect(failedOf(report)).toContain(name)
})
