import { fuzzRaw } from '../../fuzz/raw.ts'
import { fuzzWorld } from '../../fuzz/world.ts'
import { figure, type LongTest, type RunOptions, sized } from '../guarantee.ts'

async function run(options: RunOptions): Promise<string> {
  const seed = Date.now() % 2 ** 31
  const world = await fuzzWorld()
  try {
    const { requests, answers, refused } = await fuzzRaw(world, { numRuns: sized(5000, options), seed })
    return `${figure(requests)} requests broken on the wire, ${figure(answers)} answers, ${figure(refused)} of them rejections in JSON that changed nothing; 0 bugs`
  } catch (error) {
    throw new Error(`seed ${seed}: ${(error as Error).message}`)
  } finally {
    await world.server.close()
  }
}

export const guarantee: LongTest = { title: 'Malformed HTTP causes no fault', minutes: 3, run }
