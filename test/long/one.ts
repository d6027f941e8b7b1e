import setUpPostgres from '../support/postgres.ts'
import { createCluster } from '../support/postgres-cluster.ts'
import { type LongTest, Missing, type RunOptions } from './guarantee.ts'

/** Runs one guarantee and reports the result to its parent: node one.ts <name> <engine> <scale>. */
const [, , name = '', engine = 'sqlite', scale = '1'] = process.argv

async function setUp({ postgres }: LongTest): Promise<() => Promise<void>> {
  if (!postgres || process.env.TEST_POSTGRES_URL) return setUpPostgres()
  const cluster = await createCluster(postgres)
  process.env.TEST_POSTGRES_URL = cluster.url
  return cluster.remove
}

async function verdict() {
  try {
    const { guarantee } = (await import(`./guarantees/${name}.ts`)) as { guarantee: LongTest }
    // As in the normal tests: a throwaway PostgreSQL, its address in TEST_POSTGRES_URL.
    const tearDown = engine === 'postgres' ? await setUp(guarantee) : async () => {}
    const summary = await guarantee
      .run({ engine: engine as RunOptions['engine'], scale: Number(scale) })
      .finally(tearDown)
    return { kept: true, summary }
  } catch (error) {
    if (error instanceof Missing) return { missing: true, summary: error.message }
    return { summary: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

process.send?.(await verdict(), () => process.exit(0))
