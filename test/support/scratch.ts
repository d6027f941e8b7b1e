import { statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const MEMORY = '/dev/shm'
const ROOM_BYTES = 2 * 1024 ** 3

/**
 * The folder for test databases: in memory where there is room, because none of them needs to survive a power loss.
 * Benchmarks and `test:long`, which run without vitest, use a disk.
 */
export const SCRATCH = process.env.VITEST && hasRoom() ? MEMORY : tmpdir()

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    return Math.min(bavail * bsize, process.availableMemory()) >= ROOM_BYTES
  } catch {
    // Not on this system.
    return false
  }
}
