// Full: it measures connections that stall or flood.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ReadTurns } from '../../server/src/http/read-turns.ts'

const passes = async () => {}

/** Reads that end when told to, in the order in which they started. */
function createReads() {
  const turns = new ReadTurns()
  const started: string[] = []
  const ends = new Map<string, (() => void)[]>()
  const read = (
    url: string,
    { shopId = 'shop', check = passes }: { shopId?: string; check?: () => Promise<void> } = {},
  ) =>
    turns.run(
      shopId,
      () =>
        new Promise<string>((resolve) => {
          started.push(url)
          ends.set(url, [...(ends.get(url) ?? []), () => resolve(url)])
        }),
      check,
    )
  const end = async (url: string) => {
    ends.get(url)?.shift()?.()
    await nextTurn()
  }
  return { read, started, end }
}

test('six reads of a shop run at a time, and the others in the order in which they arrived', async () => {
  const { read, started, end } = createReads()
  for (const url of ['1', '2', '3', 'a', 'b', 'c', 'd', 'e']) void read(url)
  void read('elsewhere', { shopId: 'other' })
  expect(started).toEqual(['1', '2', '3', 'a', 'b', 'c', 'elsewhere'])
  await end('b')
  expect(started.slice(7)).toEqual(['d'])
  await end('d')
  expect(started.slice(7)).toEqual(['d', 'e'])
})

test('a read that had to wait is rejected when its check fails, whatever it read', async () => {
  const { read, end } = createReads()
  for (const url of ['1', '2', '3', 'a', 'b', 'c']) void read(url)
  const check = () => Promise.reject(new Error('revoked'))
  const rejected = expect(read('d', { check })).rejects.toThrow('revoked')
  const next = read('e')
  await end('a')
  await end('d')
  await rejected
  await end('e')
  expect(await next).toBe('e')
})
