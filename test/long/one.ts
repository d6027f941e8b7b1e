import setUpPostgres from '../support/postgres.ts'
import { type Given, type LongTest, Missing } from './promise.ts'

/** Runs one promise and reports the result to its parent: node one.ts <name> <engine> <scale>. */
const [, , name = '', engine = 'sqlite', scale = '1'] = process.argv

async function verdict() {
  try {
    const { promise } = (await import(`./promises/${name}.ts`)) as { promise: LongTest }
    // As in the normal tests: a throwaway PostgreSQL, its address in TEST_POSTGRES_URL.
    const tearDown = engine === 'postgres' ? await setUpPostgres() : async () => {}
    const says = await promise.run({ engine: engine as Given['engine'], scale: Number(scale) }).finally(tearDown)
    return { kept: true, says }
  } catch (error) {
    if (error instanceof Missing) return { missing: true, says: error.message }
    return { says: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

const said = await verdict()
process.send?.(said, () => process.exit(0))
