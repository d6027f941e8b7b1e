import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import { verifyFile } from '../../server/src/domains/accounts/audit-export.ts'
import { rejectionOf } from '../support/rejection.ts'
import { expectOk } from '../support/shop.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { type Owner, test } from '../support/test.ts'

const folder = temporaryFolder()
afterAll(() => folder.remove())

const file = join(folder.path, 'audit.ndjson')
const verify = (lines: string[], known?: { seq: number; hash: string }) => {
  writeFileSync(file, lines.map((line) => `${line}\n`).join(''))
  return verifyFile(file, known)
}

async function exported(owner: Owner, query = ''): Promise<string[]> {
  const { status, headers, body } = await owner('GET', `/audit/export${query}`)
  expect([status, headers.get('Content-Type')]).toEqual([200, 'application/x-ndjson'])
  return String(body).trimEnd().split('\n')
}

test('an export is verified without the server, and continues after a row', async ({ owner }) => {
  for (let i = 0; i < 5; i++) await expectOk(owner('POST', '/keys', { label: `K${i}`, scopes: ['events:write'] }))
  const lines = await exported(owner)
  const check = await verify(lines)
  expect(check).toMatchObject({ ok: true, problem: null, rows: lines.length - 2, after: { seq: 0, hash: '' } })
  expect(check.end).toEqual(JSON.parse(lines.at(-1)!).end)
  const later = await exported(owner, '?after=3')
  // Reading the export is recorded too.
  expect(await verify(later)).toMatchObject({ ok: true, after: { seq: 3, hash: JSON.parse(lines[3]!).hash } })
  expect(JSON.parse(later[1]!)).toMatchObject({ seq: 4 })
  expect(await verify(lines, check.end!)).toMatchObject({ ok: true })
})

test('every altered, missing, reordered or repeated line is found and named', async ({ owner }) => {
  const lines = await exported(owner)
  const [first = '', second = '', third = '', fourth = ''] = lines
  const rest = lines.slice(4)
  const problemOf = async (...changed: string[]) => (await verify(changed)).problem
  const altered = third.replace('"actor":"', '"actor":"x')
  expect(altered).not.toBe(third)
  expect(await problemOf(first, second, altered, fourth, ...rest)).toMatch(/^Line 3: row 2 .*changed/)
  expect(await problemOf(first, second, fourth, ...rest)).toMatch(/^Line 3: row 2 is missing/)
  expect(await problemOf(first, third, second, fourth, ...rest)).toMatch(/^Line 2: row 1 is missing/)
  expect(await problemOf(first, second, second, third, fourth, ...rest)).toMatch(/^Line 3: row 1 is not in order/)
  const all = lines.length
  expect(await problemOf(...lines.slice(0, -1))).toContain(`Line ${all - 1}: the export ends before its last line`)
  expect(await problemOf(...lines.slice(0, -2), lines.at(-1)!)).toMatch(
    new RegExp(`^Line ${all - 1}: row ${all - 2} .* ${all - 3}\\.$`),
  )
  expect(await problemOf(first, 'not JSON')).toMatch(/^Line 2: .*JSON/)
  expect(await problemOf(second, ...lines)).toMatch(/^Line 1: .*first line/)
  const known = { seq: 2, hash: 'a'.repeat(64) }
  expect((await verify(lines, known)).problem).toMatch(/^Line 3: row 2 .*known/)
  expect((await verify(lines, { seq: 9999, hash: 'a'.repeat(64) })).problem).toContain('row 9999')
})

test('a line with content that no hash covers is found', async ({ owner }) => {
  const lines = await exported(owner)
  const [first = '', second = '', ...rest] = lines
  const last = rest.at(-1)!
  const row = JSON.parse(rest.at(-2)!)
  const problem = 'it has content that no hash covers'
  // A reader that keeps the first of two members shows another actor than the one that was verified.
  const repeated = second.replace('"actor":', '"actor":"another actor","actor":')
  expect((await verify([first, repeated, ...rest])).problem).toBe(`Line 2: ${problem}.`)
  const added = second.replace(/}$/, ',"note":"approved by the owner"}')
  expect((await verify([first, added, ...rest])).problem).toBe(`Line 2: ${problem}.`)
  const forged = JSON.stringify({ ...row, seq: row.seq + 1, action: 'payout.paid', ...JSON.parse(last) })
  expect((await verify([...lines.slice(0, -1), forged])).problem).toBe(`Line ${lines.length}: ${problem}.`)
  expect((await verify([first.replace('{', '{"note":"x",'), second, ...rest])).problem).toBe(`Line 1: ${problem}.`)
  expect((await verify(lines.map((line) => `${line}\r`))).ok).toBe(true)
})

test('an export whose texts contain line separators of Unicode is verified', async ({ owner }) => {
  await expectOk(owner('POST', '/keys', { label: 'A\u2028B\u2029C', scopes: ['events:write'] }))
  expect(await verify(await exported(owner))).toMatchObject({ ok: true, problem: null })
})

test('400 for a row that does not exist; another shop exports its own rows only', async ({ server, owner }) => {
  const reply = await owner('GET', '/audit/export?after=9999')
  expect(rejectionOf(reply)).toEqual({ status: 400, code: 'invalid_parameter', field: 'after' })
  const other = await server.createShop()
  const lines = await exported((method, path) => server.asShop(other).owner(method, path))
  expect(lines.slice(1, -1).map((line) => JSON.parse(line).shopId)).toEqual(Array(lines.length - 2).fill(other.shopId))
})
