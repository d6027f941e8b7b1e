import { expect, test } from 'vitest'
import { planWaves, type Touches } from '../../server/src/database/touches.ts'

const job = (name: string, touches?: Touches) => ({ name, touches })
const waves = (...jobs: ReturnType<typeof job>[]) => planWaves(jobs).map((wave) => wave.map(({ name }) => name))

test('jobs without a common touch share a wave', () => {
  expect(waves(job('a', ['1']), job('b', ['2']), job('c', []))).toEqual([['a', 'b', 'c']])
})

test('jobs that share a touch keep their order, and each waits only for those before it', () => {
  expect(waves(job('a', ['1']), job('b', ['1', '2']), job('c', ['2']), job('d', ['3']), job('e', ['1']))).toEqual([
    ['a', 'd'],
    ['b'],
    ['c', 'e'],
  ])
})

test('a job without declared touches runs alone, after all earlier jobs and before all later ones', () => {
  expect(waves(job('a', ['1']), job('b'), job('c', ['1']), job('d', ['2']), job('e'), job('f'), job('g', []))).toEqual([
    ['a'],
    ['b'],
    ['c', 'd'],
    ['e'],
    ['f'],
    ['g'],
  ])
})

test('a touch that a job names twice does not delay it', () => {
  expect(waves(job('a', ['1', '1']), job('b', ['2']))).toEqual([['a', 'b']])
})
