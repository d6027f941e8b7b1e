import { foreignTo, trespass } from '../../fuzz/tenants.ts'
import { liveData, MANAGEMENT, testData } from '../../fuzz/test-shops.ts'
import { type FuzzWorld, fuzzed, fuzzWorld } from '../../fuzz/world.ts'
import { figure, type LongTest, type RunOptions, sized } from '../guarantee.ts'

/** Who calls, with the data of which shop. */
const WORLDS: [caller: string, create: () => Promise<FuzzWorld>, except: string[]][] = [
  ['another shop', fuzzWorld, []],
  ['a test shop of the shop', liveData, []],
  ['the live shop of a test shop', testData, MANAGEMENT],
]

async function run(options: RunOptions): Promise<string> {
  const seed = Date.now() % 2 ** 31
  const numRuns = sized(options.engine === 'postgres' ? 7 : 50, options)
  const ops = fuzzed.filter(({ isPublic }) => !isPublic)
  let calls = 0
  let texts = 0
  for (const [caller, create, except] of WORLDS) {
    const world = await create()
    const foreign = foreignTo(world)
    texts += foreign.texts.length
    try {
      for (const op of ops.filter(({ id }) => !except.includes(id))) {
        calls += await trespass(world, foreign, op, { numRuns, seed }).catch((error) => {
          throw new Error(`${op.id} as ${caller}, seed ${seed}: ${error.message}`, { cause: error })
        })
      }
    } finally {
      await world.server.close()
    }
  }
  return `${figure(calls)} calls of a stranger, of a test shop to its live shop, and of a live shop to its test shop, to ${ops.length} operations with ids of the other shop in every place: 0 of its ${figure(texts)} texts told, 0 of its rows changed`
}

export const guarantee: LongTest = {
  title: 'A shop never reads or changes data of another shop',
  engines: ['sqlite', 'postgres'],
  minutes: 5,
  run,
}
