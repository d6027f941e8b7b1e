import assert from 'node:assert/strict'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { figure, type LongTest, Missing, sized } from '../guarantee.ts'
import { cutPower } from '../power/cuts.ts'
import { whyNoRecorder } from '../power/trace.ts'

const NORMAL = pathToFileURL(fileURLToPath(new URL('../power/normal.ts', import.meta.url))).href

/** FULL loses nothing; NORMAL, the control, must lose something, or the test could not see it. */
export const guarantee: LongTest = {
  title: 'An acknowledged conversion survives a power loss',
  minutes: 6,
  run: async (given) => {
    const missing = whyNoRecorder()
    if (missing) throw new Missing(missing)
    const size = { orders: sized(1500, given), moments: sized(100, given) }
    const full = await cutPower(size)
    assert.deepEqual([full.losing, full.corrupt], [0, []], `FULL lost up to ${full.most} acknowledged orders`)
    const normal = await cutPower(size, { NODE_OPTIONS: `--import ${NORMAL}` })
    assert.deepEqual(normal.corrupt, [])
    assert.ok(normal.losing > 0, 'the control lost nothing')
    return `${full.images} cuts of ${figure(full.acknowledged)} acknowledged orders: 0 lost, 0 corrupt; with NORMAL, the control, ${normal.losing} of ${normal.images} cuts lose up to ${normal.most}`
  },
}
