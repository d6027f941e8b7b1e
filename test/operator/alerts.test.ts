// Full: it starts other processes.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'

interface Rule {
  alert: string
  expr: string
  labels: { severity: string }
  annotations: { summary: string }
}

const pathOf = (file: string) => fileURLToPath(new URL(file, import.meta.url))
const rules: Rule[] = parse(readFileSync(pathOf('../../deploy/alerts.yml'), 'utf8')).groups[0].rules
const cases = readFileSync(pathOf('alerts.yaml'), 'utf8')

const hasPromtool = spawnSync('promtool', ['--version']).status === 0
if (!hasPromtool) console.warn('skipped: the rules of deploy/alerts.yml, because there is no promtool on this machine')

test('each alert has an expression, a severity, a summary, and a test', () => {
  expect(rules.length).toBeGreaterThan(8)
  for (const { alert, expr, labels, annotations } of rules) {
    expect([alert, expr, labels.severity, annotations.summary]).toEqual([
      expect.stringMatching(/^Referral[A-Z]\w+$/),
      expect.stringMatching(/\S/),
      expect.stringMatching(/^(critical|warning|info)$/),
      expect.stringMatching(/\.$/),
    ])
    expect(cases).toContain(`alertname="${alert}"`)
  }
})

test.runIf(hasPromtool)('the alerts fire when they should, and not for a healthy server', () => {
  const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', pathOf('alerts.yaml')], {
    encoding: 'utf8',
  })
  expect([status, `${stdout}${stderr}`]).toEqual([0, expect.stringContaining('SUCCESS')])
})
