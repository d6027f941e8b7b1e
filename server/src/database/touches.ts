/**
 * What a change reads that other changes write, or writes that others read: `order:api:1001`, `customerEmail:a@b.co`. Two
 * changes of one shop that share a touch never run side by side. What only changes without declared touches write, such as
 * affiliates, their aliases, programs and settings, need not be named: those run alone.
 */
export type Touches = readonly string[]

/** Work that may declare what it touches; undefined means everything. */
interface Declared {
  touches: Touches | undefined
}

/**
 * Divides jobs into waves that run in sequence. The jobs of a wave have no touch in common and run side by side.
 * Jobs that share a touch keep their order. A job without declared touches is its own wave.
 */
export function planWaves<Job extends Declared>(jobs: readonly Job[]): Job[][] {
  const waves: Job[][] = []
  const lastWaves = new Map<string, number>()
  /** The first wave after the last job that touches everything. */
  let first = 0
  for (const job of jobs) {
    if (!job.touches) {
      first = waves.push([job])
      continue
    }
    const wave = job.touches.reduce((after, touch) => Math.max(after, (lastWaves.get(touch) ?? -1) + 1), first)
    for (const touch of job.touches) lastWaves.set(touch, wave)
    const others = waves[wave]
    if (others) others.push(job)
    else waves.push([job])
  }
  return waves
}
